// xylem perf: right results of every operation in every shape of job, and its messages about failures.

#include <gmock/gmock.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "cli/run_command.h"
#include "core/temporary_directory.h"
#include "support/sanitizers.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

const std::map<std::string, std::string> kLoopback{{"NCCL_SOCKET_IFNAME", "lo"}};
constexpr const char* kOperations[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                       "reduce",     "alltoall",   "scatter",        "gather",
                                       "sendrecv",   "hypercube"};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// One operation without warm up: for tests of results, not of times.
const Words kOnce = {"-w", "0", "-n", "1"};

// The JSON of a job; expects that all results are right.
Json resultsOf(const Words& words, const std::map<std::string, std::string>& environment = kLoopback) {
  const Outcome run = runCommand(Words{"perf"} + words + Words{"--json"}, environment);
  EXPECT_EQ(run.status, 0) << words.front() << ": " << run.errors << run.output;
  Json json = Json::parse(run.output, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << run.output;
  if (json.is_discarded()) return Json::object();
  EXPECT_EQ(json["format"], "xylem-perf-1");
  EXPECT_EQ(json["wrong"], 0);
  const bool inPlace = words.front() != "alltoall" && words.front() != "sendrecv";
  for (const auto& row : json["results"]) {
    EXPECT_EQ(row["out_of_place"]["wrong"], 0) << words.front() << row;
    EXPECT_EQ(row["in_place"].is_null(), !inPlace) << words.front() << row;
    if (inPlace) {
      EXPECT_EQ(row["in_place"]["wrong"], 0) << words.front() << row;
    }
  }
  return json;
}

TEST(PerfCommand, EveryTypeAndOperationIsRight) {
  const Json json = resultsOf(
      Words{"all_reduce", "-p", "3", "-b", "8", "-e", "4104", "-i", "4096", "-d", "all", "-o", "all"} +
      kOnce);
  EXPECT_EQ(json["ranks"].size(), 3u);
  EXPECT_EQ(json["results"].size(), 12u * 6 * 2);
}

TEST(PerfCommand, BlocksOfEveryTypeAndOperationAreRight) {
  const Words everything = Words{"-t", "3", "-b", "3K", "-e", "3K", "-d", "all"} + kOnce;
  EXPECT_EQ(resultsOf(Words{"reduce_scatter", "-o", "all"} + everything)["results"].size(), 12u * 6);
  EXPECT_EQ(resultsOf(Words{"reduce", "-o", "all", "-r", "-1"} + everything)["results"].size(), 12u * 6 * 3);
  EXPECT_EQ(resultsOf(Words{"all_gather"} + everything)["results"].size(), 12u);
  EXPECT_EQ(resultsOf(Words{"alltoall"} + everything)["results"].size(), 12u);
}

TEST(PerfCommand, EveryOperationIsRightInEveryShapeOfJob) {
  const std::pair<Words, std::size_t> shapes[] = {
      {{"-p", "3"}, 3}, {{"-t", "3"}, 3}, {{"-g", "3"}, 3}, {{"-p", "2", "-t", "2", "-g", "2"}, 8}};
  for (const auto& [shape, ranks] : shapes)
    for (const std::string operation : kOperations) {
      // hypercube needs a power of two.
      if (operation == "hypercube" && ranks == 3) continue;
      const Json json =
          resultsOf(Words{operation, "-b", "4", "-e", "40004", "-i", "20000", "-r", "-1"} + shape + kOnce);
      EXPECT_EQ(json["ranks"].size(), ranks);
      EXPECT_EQ(json["collective"], operation);
    }
}

TEST(PerfCommand, HowItMeasuresDoesNotChangeResults) {
  const Words sizes = {"-p", "2", "-b", "1000", "-e", "100000", "-f", "100", "-n", "3", "-w", "1"};
  for (const Words& how :
       {Words{"-z", "1"}, Words{"-a", "0"}, Words{"-a", "2", "-C", "1"}, Words{"-a", "3", "-R", "1"},
        Words{"-m", "3"}, Words{"-c", "3"}, Words{"-G", "2"}, Words{"--memory", "malloc", "-T", "60"},
        Words{"--memory", "nccl", "-R", "1", "-T", "0"}}) {
    resultsOf(Words{"all_reduce"} + sizes + how);
    resultsOf(Words{"sendrecv"} + sizes + how);
  }
  EXPECT_EQ(resultsOf(Words{"all_reduce", "-C", "1"} + sizes)["cputime"], true);
  EXPECT_EQ(resultsOf(Words{"all_reduce"} + sizes)["cputime"], false);
  EXPECT_THAT(runCommand({"perf", "all_reduce", "--memory", "all"}, kLoopback).errors,
              HasSubstr("expected one of malloc, cuda, nccl"));
  const Outcome unchecked = runCommand(Words{"perf", "all_reduce", "-c", "0"} + sizes, kLoopback);
  EXPECT_EQ(unchecked.status, 0) << unchecked.errors;
  EXPECT_THAT(unchecked.output, HasSubstr("   N/A  "));
}

TEST(PerfCommand, EndsItsProcessesAsProgramsDo) {
  TemporaryDirectory folder;
  std::map<std::string, std::string> environment = kLoopback;
  environment["NCCL_ENV_PLUGIN"] = XYLEM_TEST_PLUGINS "/libnccl-env-test2.so";
  environment["TEST_ENV_FINALIZED"] = (folder / "finalized").string();
  resultsOf(Words{"all_reduce", "-p", "3", "-e", "8"} + kOnce, environment);
  std::ostringstream text;
  text << std::ifstream(folder / "finalized").rdbuf();
  EXPECT_EQ(text.str(), "finalized\nfinalized\nfinalized\n");
}

TEST(PerfCommand, GraphsOfEveryOperationGiveItsResults) {
  // Without warm up, so that the first launch also connects the ranks; several ranks per thread launch a
  // graph each.
  for (const Words& shape : {Words{"-p", "2"}, Words{"-t", "2", "-g", "2"}})
    for (const std::string operation : kOperations) {
      const Json json =
          resultsOf(Words{operation, "-b", "4000", "-e", "40000", "-f", "10", "-w", "0", "-n", "3", "-m",
                          operation == "hypercube" ? "1" : "2", "-G", "3", "-c", "2"} +
                    shape);
      EXPECT_EQ(json["graph"], 3) << operation;
      for (const auto& row : json["results"]) EXPECT_GT(row["out_of_place"]["time_us"], 0) << row;
    }
  const Outcome run = runCommand({"perf", "all_reduce", "-e", "8", "-G", "4", "-z", "1"}, kLoopback);
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr(" graph: 4\n"));
}

TEST(PerfCommand, PrintsTheTableOfNcclTests) {
  const Outcome run =
      runCommand({"perf", "all_reduce", "-b", "4", "-e", "16", "-f", "2", "-d", "int32"}, kLoopback);
  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("# nThread 1 nGpus 1 minBytes 4 maxBytes 16 step: 2(factor) "
                              "warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"),
                    HasSubstr("#  Rank  1 Group  0 Pid"), HasSubstr("out-of-place"),
                    HasSubstr("# Out of bounds values : 0 OK"), HasSubstr("# Avg bus bandwidth")));
  EXPECT_THAT(run.output, Not(HasSubstr("Rank  2"))) << "two processes unless it is told otherwise";
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
  for (const std::string operation : kOperations)
    resultsOf(Words{operation, "-p", "1", "-b", "4", "-e", "100000", "-f", "100"} + kOnce);
  resultsOf({"all_reduce", "-p", "9", "-b", "4", "-e", "100000", "-f", "100", "-w", "1", "-n", "2"});
}

TEST(PerfCommand, UnderALauncherItIsOneProcessOfTheJob) {
  const Words perf = {"perf", "alltoall", "-g", "2", "-b", "6K", "-e", "6K", "-n", "2"};
  const Outcome run = runCommand(Words{"run", "-n", "3", "--", XYLEM_COMMAND} + perf, kLoopback);
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("[0] # nThread 1 nGpus 2"), HasSubstr("[0] #  Rank  5 Group  0"),
                                HasSubstr("[0] # Out of bounds values : 0 OK")));
  EXPECT_THAT(run.output, Not(HasSubstr("[1] "))) << "the table comes once";
  // With -p it starts processes of its own.
  const Outcome own = runCommand(
      {"run", "-n", "2", "--", XYLEM_COMMAND, "perf", "all_reduce", "-p", "2", "-e", "8"}, kLoopback);
  EXPECT_EQ(own.status, 0) << own.errors;
  EXPECT_THAT(own.output, AllOf(HasSubstr("[0] #  Rank  1"), HasSubstr("[1] #  Rank  1")));
}

TEST(PerfCommand, ALauncherHasToSayWhereRanksMeet) {
  auto environment = kLoopback;
  environment["RANK"] = "1";
  environment["WORLD_SIZE"] = "2";
  const Outcome run = runCommand({"perf", "all_reduce"}, environment);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, AllOf(StartsWith("xylem: NCCL_COMM_ID: "), HasSubstr("host:port"),
                                HasSubstr("RANK says that this is process 1 of 2")));
  // A single process needs no place to meet.
  environment["RANK"] = "0";
  environment["WORLD_SIZE"] = "1";
  resultsOf(Words{"all_reduce", "-e", "8"} + kOnce, environment);
}

TEST(PerfCommand, VariablesThatCannotBeUsedAreNamed) {
  for (const auto& [name, value, message] :
       {std::tuple{"NCCL_ALGO", "Rinng", "xylem: environment: NCCL_ALGO: found `Rinng`"},
        std::tuple{"NCCL_CROSS_NIC", "9", "xylem: environment: NCCL_CROSS_NIC: found 9"},
        std::tuple{"WORLD_SIZE", "x", "xylem: WORLD_SIZE: found `x`"}}) {
    auto environment = kLoopback;
    environment["RANK"] = "0";
    environment[name] = value;
    const Outcome run = runCommand({"perf", "all_reduce", "-e", "8"}, environment);
    EXPECT_EQ(run.status, 2) << message;
    EXPECT_THAT(run.errors, StartsWith(message));
    EXPECT_EQ(run.output, "") << message;
  }
}

TEST(PerfCommand, BadOptionsAreNamed) {
  const std::pair<Words, const char*> cases[] = {
      {{}, "OP"},
      {{"all_scatter"}, "all_scatter"},
      {{"all_reduce", "-p", "0"}, "--processes"},
      {{"all_reduce", "-p", "1000", "-t", "2"}, "2000 ranks on this machine"},
      {{"all_reduce", "-g", "x"}, "--ngpus"},
      {{"all_reduce", "-b", "1T"}, "1T"},
      {{"all_reduce", "-b", "-8"}, "-b"},
      {{"all_reduce", "-b", "0"}, "-b"},
      {{"all_reduce", "-b", "2K", "-e", "1K"}, "2K with -e 1K"},
      {{"all_reduce", "-f", "1"}, "--stepfactor"},
      {{"all_reduce", "-f", "2", "-i", "8"}, "--stepbytes"},
      {{"all_reduce", "-i", "0"}, "-i"},
      {{"all_reduce", "-d", "float128"}, "bfloat16"},
      {{"all_reduce", "-o", "xor"}, "mulsum"},
      {{"all_reduce", "-c", "-2"}, "--check"},
      {{"all_reduce", "-n", "0"}, "--iters"},
      {{"all_reduce", "-z", "2"}, "--blocking"},
      {{"all_reduce", "-a", "4"}, "--average"},
      {{"all_reduce", "-G", "-1"}, "--cudagraph"},
      {{"all_reduce", "--memory", "floppy"}, "malloc"},
      {{"reduce", "-r", "2"}, "root 2 of 2 ranks"},
      {{"hypercube", "-p", "3"}, "a power of two"},
      {{"hypercube", "-m", "2"}, "-m"},
  };
  for (const auto& [words, message] : cases) {
    const Outcome run = runCommand(Words{"perf"} + words, kLoopback);
    EXPECT_EQ(run.status, 2) << message;
    EXPECT_THAT(run.errors, HasSubstr(message));
    EXPECT_EQ(run.output, "") << message;
  }
}

TEST(PerfCommand, NamesOfTypesOperatorsAndMemoryHaveOneSpelling) {
  const Outcome run = runCommand({"perf", "AllReduce", "-e", "8", "-n", "1", "-d", "BFloat16", "-o", "Max",
                                  "--memory", "MALLOC", "--json"},
                                 kLoopback);
  ASSERT_EQ(run.status, 0) << run.errors;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["memory"], "malloc");
  EXPECT_EQ(json["results"].at(0)["type"], "bfloat16");
  EXPECT_EQ(json["results"].at(0)["redop"], "max");
}

TEST(PerfCommand, ARankThatCannotStartIsTold) {
  for (const Words& shape : {Words{"-p", "3"}, Words{"-t", "2"}, Words{"-g", "2"}}) {
    const Outcome run = runCommand(Words{"perf", "all_reduce"} + shape, {{"NCCL_SOCKET_IFNAME", "nosuch"}});
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.errors, AllOf(HasSubstr("rank 0"), HasSubstr("nosuch")));
  }
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

// Four ranks that measure for long, once all have joined.
class LongPerf {
 public:
  LongPerf() {
    EXPECT_TRUE(await([&] { return pids().size() == 4; })) << command.errors();
  }
  std::vector<pid_t> pids() const { return pidsIn(command.output()); }

  BackgroundCommand command{{"perf", "all_reduce", "-p", "4", "-b", "1M", "-e", "1M", "-n", "1000000"},
                            kLoopback};
};

TEST(PerfCommand, InterruptedItLeavesNobody) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    LongPerf perf;
    const std::vector<pid_t> pids = perf.pids();
    kill(perf.command.pid(), signal);
    EXPECT_EQ(perf.command.wait(), 128 + signal);
    if (signal != SIGKILL) {
      EXPECT_THAT(perf.command.errors(), HasSubstr("; ending 4 ranks\n"));
    }
    for (const pid_t pid : pids)
      EXPECT_TRUE(await([pid] { return !isAlive(pid); })) << "rank " << pid << " is left";
  }
}

TEST(PerfCommand, SilentRanksAreNamed) {
  const Outcome run = runCommand(
      {"perf", "all_reduce", "-p", "2", "-b", "1M", "-e", "1M", "-n", "1000000", "-T", "1"}, kLoopback);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("no rank reported anything for 1 s; waiting for ranks 0,1 (of 2 ranks)"));
}

TEST(PerfCommand, AKilledRankIsNamedAndNobodyIsLeft) {
  LongPerf perf;
  const std::vector<pid_t> pids = perf.pids();
  ASSERT_EQ(pids.size(), 4u);
  kill(pids[2], SIGKILL);
  EXPECT_EQ(perf.command.wait(), 1);
  EXPECT_THAT(perf.command.errors(), AllOf(HasSubstr("rank 2"), HasSubstr("killed by signal 9")));
  for (const pid_t pid : pids) EXPECT_FALSE(isAlive(pid)) << "rank " << pid << " is left";
}

TEST(PerfCommand, AnUnknownOperationIsOfferedTheNearestOne) {
  const Outcome run = runCommand({"perf", "al_reduce"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("found `al_reduce`; expected one of all_reduce, all_gather"),
                                HasSubstr("did you mean all_reduce?"), Not(HasSubstr("{"))));
}

// The output of `xylem perf` with these words under a limit (ulimit OPTION).
std::string limited(const std::string& option, const std::string& words) {
  const std::string line = "ulimit " + option + "; NCCL_SOCKET_IFNAME=lo exec timeout -s KILL 60 " +
                           XYLEM_COMMAND + " perf all_reduce -b 8 -e 8 " + words + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), &pclose);
  std::string text;
  for (int c = 0; pipe && (c = std::getc(pipe.get())) != EOF;) text += static_cast<char>(c);
  return text;
}

TEST(PerfCommand, LimitsOfTheProcessAreNamed) {
  // Sanitizers need files and address space of their own.
  if (kAddressSanitizer) GTEST_SKIP() << "the limits would be those of the address sanitizer";
  EXPECT_THAT(limited("-n 16", "-p 4"),
              HasSubstr("Too many open files; this process may open 16 (ulimit -n)"));
  // With more processes than files the command sees them end.
  EXPECT_THAT(limited("-n 40", "-p 32"), HasSubstr("xylem: rank "));
  EXPECT_THAT(limited("-v 120000", "-p 2"),
              HasSubstr("out of memory; this process may have 120000 KiB of address space (ulimit -v)"));
}

}  // namespace
}  // namespace xylem::testing
