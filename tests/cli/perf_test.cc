// xylem perf: right results in every shape, and what it says when something goes wrong.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::map<std::string, std::string> kLoopback{{"NCCL_SOCKET_IFNAME", "lo"}};

TEST(PerfCommand, EveryTypeAndOperationIsRight) {
  const Outcome run = runCommand({"perf", "all_reduce", "-n", "3", "-b", "8", "-e", "4104", "-i", "4096",
                                  "-d", "all", "-o", "all", "-w", "0", "--iters", "1", "--json"},
                                 kLoopback);
  ASSERT_EQ(run.status, 0) << run.errors;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["format"], "xylem-perf-1");
  EXPECT_EQ(json["ranks"].size(), 3u);
  EXPECT_EQ(json["wrong"], 0);
  ASSERT_EQ(json["results"].size(), 12u * 5 * 2);
  for (const auto& row : json["results"]) {
    EXPECT_EQ(row["out_of_place"]["wrong"], 0) << row;
    EXPECT_EQ(row["in_place"]["wrong"], 0) << row;
  }
}

TEST(PerfCommand, PrintsTheTableOfNcclTests) {
  const Outcome run = runCommand(
      {"perf", "all_reduce", "-n", "2", "-b", "4", "-e", "16", "-f", "2", "-d", "int32"}, kLoopback);
  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("# nThread 1 nGpus 1 minBytes 4 maxBytes 16 step: 2(factor)"),
                    HasSubstr("#  Rank  1 Group  0 Pid"), HasSubstr("out-of-place"),
                    HasSubstr("# Out of bounds values : 0 OK"), HasSubstr("# Avg bus bandwidth")));
  std::istringstream lines(run.output);
  std::string line;
  std::vector<std::string> sizes;
  std::size_t width = 0;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string size, count, type, op, root, rest;
    words >> size >> count >> type >> op >> root;
    EXPECT_EQ(type + " " + op + " " + root, "int32 sum -1");
    int columns = 0;
    while (words >> rest) ++columns;
    EXPECT_EQ(columns, 8);
    EXPECT_TRUE(width == 0 || line.size() == width) << "aligned";
    width = line.size();
    sizes.push_back(size);
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre("4", "8", "16"));
  EXPECT_EQ(run.output.find('\033'), std::string::npos) << "no colour into a pipe";
}

TEST(PerfCommand, OneRankAndManyRanks) {
  for (const char* n : {"1", "9"}) {
    const Outcome run = runCommand(
        {"perf", "all_reduce", "-n", n, "-b", "1", "-e", "100000", "-f", "100", "-w", "1", "--iters", "2"},
        kLoopback);
    EXPECT_EQ(run.status, 0) << run.errors;
    EXPECT_THAT(run.output, HasSubstr("values : 0 OK"));
  }
}

TEST(PerfCommand, BadOptionsAreNamed) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"perf"}, "COLLECTIVE"},
      {{"perf", "all_gather"}, "all_gather"},
      {{"perf", "all_reduce", "-n", "0"}, "--ranks"},
      {{"perf", "all_reduce", "-b", "1T"}, "1T"},
      {{"perf", "all_reduce", "-b", "-8"}, "-b"},
      {{"perf", "all_reduce", "-b", "2K", "-e", "1K"}, "2K with -e 1K"},
      {{"perf", "all_reduce", "-f", "1"}, "--stepfactor"},
      {{"perf", "all_reduce", "-f", "2", "-i", "8"}, "--stepbytes"},
      {{"perf", "all_reduce", "-i", "0"}, "-i"},
      {{"perf", "all_reduce", "-d", "float128"}, "bfloat16"},
      {{"perf", "all_reduce", "-o", "xor"}, "avg"},
      {{"perf", "all_reduce", "-c", "2"}, "--check"},
      {{"perf", "all_reduce", "--iters", "0"}, "--iters"},
  };
  for (const auto& [words, message] : cases) {
    const Outcome run = runCommand(words, kLoopback);
    EXPECT_EQ(run.status, 2) << words.back();
    EXPECT_THAT(run.errors, HasSubstr(message));
  }
}

TEST(PerfCommand, ARankThatCannotStartIsTold) {
  const Outcome run = runCommand({"perf", "all_reduce", "-n", "3"}, {{"NCCL_SOCKET_IFNAME", "nosuch"}});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("rank 0"), HasSubstr("nosuch")));
}

// The process ids in the head of the table, by rank.
std::vector<pid_t> pidsIn(const std::string& output) {
  std::vector<pid_t> pids;
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t at = line.find(" Pid ");
    if (line.starts_with("#  Rank") && at != std::string::npos && line.find("[host]") != std::string::npos)
      pids.push_back(std::stoi(line.substr(at + 5)));
  }
  return pids;
}

std::string readAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PerfCommand, AKilledRankIsNamedAndNobodyIsLeft) {
  const ScratchFile out("out", ""), errors("errors", "");
  const pid_t command = fork();
  ASSERT_GE(command, 0);
  if (command == 0) {
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    if (freopen(out.path().c_str(), "w", stdout) == nullptr ||
        freopen(errors.path().c_str(), "w", stderr) == nullptr)
      _exit(99);
    execl(XYLEM_COMMAND, "xylem", "perf", "all_reduce", "-n", "4", "-b", "1M", "-e", "1M", "--iters",
          "1000000", nullptr);
    _exit(98);
  }
  std::vector<pid_t> pids;
  for (int i = 0; i < 3000 && pids.size() < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    pids = pidsIn(readAll(out.path()));
  }
  ASSERT_EQ(pids.size(), 4u);
  kill(pids[2], SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(command, &status, 0), command);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  EXPECT_THAT(readAll(errors.path()), AllOf(HasSubstr("rank 2"), HasSubstr("killed by signal 9")));
  for (const pid_t pid : pids) EXPECT_NE(kill(pid, 0), 0) << "rank " << pid << " is left";
}

}  // namespace
}  // namespace xylem::testing
