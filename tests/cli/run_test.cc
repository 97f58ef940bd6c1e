// xylem run: the variables of ranks, their output, and that none of them outlives the job.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "cli/run/placement.h"
#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

// `xylem run OPTIONS -- sh -c SCRIPT`.
Words shell(const Words& options, const std::string& script) {
  Words words = {"run"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "sh", "-c", script});
  return words;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> sortedLines(const std::string& text) {
  std::vector<std::string> lines = linesOf(text);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The process ids that ranks have printed, one per line after the tag; none if the last line is incomplete.
std::vector<pid_t> printedPids(const std::string& output) {
  std::vector<pid_t> pids;
  if (!output.ends_with('\n')) return pids;
  for (const std::string& line : linesOf(output)) pids.push_back(std::stoi(line.substr(line.find(' ') + 1)));
  return pids;
}

// A rank with a child that would stay for long. Prints the ids of both.
constexpr const char* kFamily = "sleep 1000 & echo $!; echo $$; wait";

void expectNobodyIsLeft(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    EXPECT_TRUE(await([pid] { return !isAlive(pid); })) << pid << " is left";
    kill(pid, SIGKILL);
  }
}

TEST(RunCommand, RanksKnowWhoTheyAre) {
  const Outcome run = runCommand(shell({"-n", "2"},
                                       "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE "
                                       "$OMPI_COMM_WORLD_RANK/$PMI_SIZE"));
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(sortedLines(run.output), ElementsAre("[0] 0/2 0/2 0/2", "[1] 1/2 1/2 1/2"));
  EXPECT_EQ(run.errors, "");
}

TEST(RunCommand, AllMeetAtOnePlaceWithOneSecret) {
  const Words words =
      shell({"-n", "3", "--no-prefix"}, "echo $MASTER_ADDR:$MASTER_PORT $NCCL_COMM_ID $XYLEM_SECRET");
  const Outcome run = runCommand(words);
  const auto lines = linesOf(run.output);
  ASSERT_EQ(lines.size(), 3u) << run.errors;
  EXPECT_EQ(std::set(lines.begin(), lines.end()).size(), 1u) << run.output;
  EXPECT_THAT(lines[0], MatchesRegex("127.0.0.1:[0-9]+ 127.0.0.1:[0-9]+ [0-9a-f]+"));
  EXPECT_NE(linesOf(runCommand(words).output), lines) << "another job, another secret";
  const Outcome given = runCommand(shell({"-n", "1", "--port", "4000"}, "echo $MASTER_PORT $NCCL_COMM_ID"));
  EXPECT_EQ(given.output, "[0] 4000 127.0.0.1:4001\n");
}

// The folder belongs to a build of the target `installable`; tests/install runs programs with it.
TEST(RunCommand, LibrariesUnderNcclsNamesAreInFrontOfOthersForTheProgramOnly) {
  const std::string folder = XYLEM_BINARY_DIR "/as-nccl";
  const std::string script = "echo $LD_LIBRARY_PATH ${RANK-alone}";
  const std::map<std::string, std::string> environment{{"LD_LIBRARY_PATH", "/opt/others"}};
  const Outcome alone = runCommand(shell({"--as-nccl"}, script), environment);
  const Outcome rank =
      runCommand(shell({"-n", "1", "--as-nccl", "-x", "LD_LIBRARY_PATH=/my"}, script), environment);
  if (std::filesystem::exists(folder + "/libnccl.so.2")) {
    EXPECT_EQ(alone.output, folder + ":/opt/others alone\n") << alone.errors;
    EXPECT_EQ(rank.output, "[0] " + folder + ":/my 0\n") << rank.errors;
  } else {
    EXPECT_EQ(alone.status, 2);
    EXPECT_THAT(alone.errors, HasSubstr("--as-nccl: found no folder as-nccl"));
    EXPECT_EQ(rank.status, 2);
  }
  EXPECT_EQ(runCommand(shell({"-n", "1"}, script), environment).output, "[0] /opt/others 0\n");
  // The one for GPUs is built where nvcc is.
  const std::string forGpus = XYLEM_BINARY_DIR "/src/gpu/as-nccl-gpu";
  const Outcome onGpus = runCommand(shell({"--as-nccl", "-x", "XYLEM_DEVICE=gpu"}, script), environment);
  if (std::filesystem::exists(forGpus + "/libnccl.so.2")) {
    EXPECT_EQ(onGpus.output, forGpus + ":/opt/others alone\n") << onGpus.errors;
  } else {
    EXPECT_EQ(onGpus.status, 2);
    EXPECT_THAT(onGpus.errors, HasSubstr("--as-nccl: found no folder as-nccl-gpu"));
  }
  // Options for ranks of this command ask for their number.
  EXPECT_THAT(runCommand(shell({"--as-nccl", "--timeout", "5"}, script)).errors,
              HasSubstr("the number of ranks"));
}

TEST(RunCommand, OutputAndErrorsHaveTheirRankInFront) {
  const std::string script = "echo out; echo err >&2; printf unfinished";
  const Outcome run = runCommand(shell({"-n", "2"}, script));
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(sortedLines(run.output), ElementsAre("[0] out", "[0] unfinished", "[1] out", "[1] unfinished"));
  EXPECT_THAT(sortedLines(run.errors), ElementsAre("[0] err", "[1] err"));
  const Outcome plain = runCommand(shell({"-n", "1", "--no-prefix"}, script));
  EXPECT_EQ(plain.output, "out\nunfinished");
  EXPECT_EQ(plain.errors, "err\n");
}

TEST(RunCommand, MuchOutputArrivesWhole) {
  const Outcome run = runCommand(shell({"-n", "3"}, "seq 1 100000"));
  EXPECT_EQ(run.status, 0);
  std::vector<int> next(3, 1);
  for (const std::string& line : linesOf(run.output)) {
    ASSERT_TRUE(line.size() > 4 && line[1] >= '0' && line[1] <= '2') << line;
    int& expected = next[static_cast<std::size_t>(line[1] - '0')];
    ASSERT_EQ(line, "[" + line.substr(1, 1) + "] " + std::to_string(expected));
    ++expected;
  }
  EXPECT_THAT(next, ElementsAre(100001, 100001, 100001));
}

TEST(RunCommand, OnATerminalRanksHaveColours) {
  const Words words = shell({"-n", "2"}, "echo hello");
  const Outcome run = runCommand(words, {{"TERM", "xterm"}}, Stdout::kTerminal);
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, AllOf(HasSubstr("[0]\033[0m hello"), HasSubstr("[1]\033[0m hello")));
  const Outcome plain = runCommand(words, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, Stdout::kTerminal);
  EXPECT_THAT(plain.output, AllOf(HasSubstr("[0] hello"), Not(HasSubstr("\033"))));
}

TEST(RunCommand, WithoutTheMarkTheFirstWordIsTheProgram) {
  const Outcome run = runCommand({"run", "-n", "1", "echo", "-n", "--hosts", "x", "--", "y"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, "[0] --hosts x -- y\n");
  EXPECT_EQ(runCommand({"run", "-n", "1", "--", "echo", "--", "y"}).output, "[0] -- y\n");
}

TEST(RunCommand, TheFirstFailureEndsAllAndIsTheStatus) {
  const Outcome run = runCommand(shell({"-n", "3"}, "test $RANK = 1 && exit 7; sleep 1000"));
  EXPECT_EQ(run.status, 7);
  EXPECT_THAT(run.errors,
              MatchesRegex("xylem: rank 1 \\(process [0-9]+ on localhost\\) exited with status 7; "
                           "ending 2 ranks\n"));
}

TEST(RunCommand, SignalsAreToldAsShellsDo) {
  const Outcome run = runCommand(shell({"-n", "2"}, "test $RANK = 1 && kill -9 $$; sleep 1000"));
  EXPECT_EQ(run.status, 137);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("rank 1"), HasSubstr("killed by signal 9 (Killed)")));
}

TEST(RunCommand, TimeIsLimitedEvenForTheStubborn) {
  const Outcome run = runCommand(
      shell({"-n", "2", "--timeout", "1", "--grace", "0"}, "trap '' TERM; while :; do sleep 1000; done"));
  EXPECT_EQ(run.status, 124);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("xylem: not done after 1 s; ending 2 ranks\n"),
                                HasSubstr("xylem: ranks 0,1 did not end within 0 s and were killed\n")));
  EXPECT_EQ(runCommand(shell({"-n", "2", "--timeout", "60"}, "true")).status, 0);
}

TEST(RunCommand, WhatRanksLeaveBehindIsEnded) {
  const Outcome run = runCommand(shell({"-n", "2"}, "sleep 1000 & echo $!"));
  EXPECT_EQ(run.status, 0) << run.errors;
  const std::vector<pid_t> pids = printedPids(run.output);
  EXPECT_EQ(pids.size(), 2u);
  expectNobodyIsLeft(pids);
}

TEST(RunCommand, InterruptedItLeavesNobody) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    BackgroundCommand command(shell({"-n", "3"}, kFamily));
    ASSERT_TRUE(await([&] { return printedPids(command.output()).size() == 6; })) << command.errors();
    kill(command.pid(), signal);
    EXPECT_EQ(command.wait(), 128 + signal);
    expectNobodyIsLeft(printedPids(command.output()));
  }
}

TEST(RunCommand, ASignalThatItIsStartedToIgnoreDoesNotEndIt) {
  const std::string inner = std::string(XYLEM_COMMAND) + " run -n 1 -- sh -c 'echo up; sleep 1; echo done'";
  BackgroundCommand command(shell({"-n", "1"}, "trap '' HUP; echo $$; exec " + inner));
  ASSERT_TRUE(await([&] { return command.output().find("[0] [0] up\n") != std::string::npos; }))
      << command.errors();
  kill(std::stoi(command.output().substr(4)), SIGHUP);
  EXPECT_EQ(command.wait(), 0) << command.errors();
  EXPECT_THAT(command.output(), HasSubstr("[0] [0] done\n"));
}

TEST(RunCommand, BindingGivesEachItsShare) {
  const std::vector<int> cpus = cli::usableCpus();
  const Outcome run = runCommand(shell({"-n", "2", "--bind", "cores"}, "nproc"));
  EXPECT_EQ(run.status, 0) << run.errors;
  const auto share = [&](int part) { return std::to_string(cli::shareOf(cpus, part, 2).size()); };
  EXPECT_THAT(sortedLines(run.output), ElementsAre("[0] " + share(0), "[1] " + share(1)));
  const Outcome apart =
      runCommand(shell({"-n", "2", "--bind", "cores"}, "grep Cpus_allowed_list /proc/self/status"));
  const auto lines = sortedLines(apart.output);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(4) == lines[1].substr(4), cpus.size() < 2) << apart.output;
}

// A launcher whose other hosts are this one.
constexpr const char* kNextDoor = "env ON_HOST={host}";
constexpr const char* kWhere = "echo $ON_HOST $RANK $LOCAL_RANK/$LOCAL_WORLD_SIZE $NCCL_ALGO $GREETING";

TEST(RunCommand, UserSignalsGoToAllRanks) {
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{"-n", "2"}, {"--hosts", "red:1,blue:1", "--launcher", kNextDoor}}) {
    for (const int signal : {SIGUSR1, SIGUSR2}) {
      BackgroundCommand command(
          shell(where,
                "trap 'echo first; exit 0' USR1; trap 'echo second; exit 0' USR2; echo up; "
                "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done; exit 9"));
      ASSERT_TRUE(await([&] { return sortedLines(command.output()).size() == 2; })) << command.errors();
      kill(command.pid(), signal);
      EXPECT_EQ(command.wait(), 0) << command.errors();
      const std::string said = signal == SIGUSR1 ? "first" : "second";
      EXPECT_THAT(sortedLines(command.output()),
                  ElementsAre("[0] " + said, "[0] up", "[1] " + said, "[1] up"));
    }
  }
}

TEST(RunCommand, HostsAreReachedByTheLauncher) {
  const Outcome run =
      runCommand(shell({"--hosts", "red:2,blue:1", "--launcher", kNextDoor, "-x", "GREETING=it's  me", "-x",
                        "NOT_SET", "-x", "AT=on {host}"},
                       "test -n \"$XYLEM_SECRET\" && test \"$AT\" = \"on $ON_HOST\" && pwd -P && " +
                           std::string(kWhere)),
                 {{"NCCL_ALGO", "ring"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  const std::string folder = std::filesystem::current_path().string();
  EXPECT_THAT(sortedLines(run.output),
              ::testing::UnorderedElementsAre("[0] " + folder, "[1] " + folder, "[2] " + folder,
                                              "[0] red 0 0/2 ring it's me", "[1] red 1 1/2 ring it's me",
                                              "[2] blue 2 0/1 ring it's me"));

  // The launcher may stand in the environment, or in NCCL's file of settings.
  const Words words = shell({"--hosts", "red:1,blue:1"}, kWhere);
  const auto expected = ElementsAre("[0] red 0 0/1", "[1] blue 1 0/1");
  const Outcome variable = runCommand(words, {{"XYLEM_RUN_LAUNCHER", kNextDoor}});
  EXPECT_THAT(sortedLines(variable.output), expected) << variable.errors;
  const ScratchFile settings("nccl.conf", "XYLEM_RUN_LAUNCHER=" + std::string(kNextDoor) + "\n");
  const Outcome file = runCommand(words, {{"NCCL_CONF_FILE", settings.path()}});
  EXPECT_THAT(sortedLines(file.output), expected) << file.errors;

  // ssh gives its one word to a shell.
  const ScratchFile ssh("ssh", "#!/bin/sh\nexport ON_HOST=$1\nshift\nexec sh -c \"$*\"\n");
  std::filesystem::permissions(ssh.path(), std::filesystem::perms::owner_all);
  const Outcome login = runCommand(shell(
      {"--hosts", "red:1,blue:1", "--launcher", ssh.path() + " {host}", "-x", "GREETING=it's"}, kWhere));
  EXPECT_THAT(sortedLines(login.output), ElementsAre("[0] red 0 0/1 it's", "[1] blue 1 0/1 it's"))
      << login.errors;
}

TEST(RunCommand, RanksElsewhereEndWithTheJob) {
  const Outcome failed = runCommand(shell({"--hosts", "red:1,blue:1", "--launcher", kNextDoor},
                                          "test $RANK = 1 && exit 3; echo $$; sleep 1000"));
  EXPECT_EQ(failed.status, 3) << failed.errors;
  EXPECT_THAT(failed.errors, AllOf(HasSubstr("rank 1"), HasSubstr("on blue) exited with status 3")));
  expectNobodyIsLeft(printedPids(failed.output));
  const Outcome killed = runCommand(shell({"--hosts", "red:1,blue:1", "--launcher", kNextDoor},
                                          "test $RANK = 1 && kill -11 $$; sleep 1000"));
  EXPECT_EQ(killed.status, 139);
  EXPECT_THAT(killed.errors,
              HasSubstr("on blue) exited with status 139, as after signal 11 (Segmentation fault)"));
  for (const int signal : {SIGINT, SIGKILL}) {
    BackgroundCommand command(shell({"--hosts", "red:1,blue:1", "--launcher", kNextDoor}, kFamily));
    ASSERT_TRUE(await([&] { return printedPids(command.output()).size() == 4; })) << command.errors();
    kill(command.pid(), signal);
    EXPECT_EQ(command.wait(), 128 + signal);
    expectNobodyIsLeft(printedPids(command.output()));
  }
}

TEST(RunCommand, BadOptionsAreNamed) {
  const std::pair<Words, const char*> cases[] = {
      {{"-n", "2"}, "the program to run"},
      {{"-n", "2", "--"}, "the program to run"},
      {{"--", "true"}, "the number of ranks"},
      {{"-n", "0", "--", "true"}, "--ranks"},
      {{"-n", "1", "--", "no-such-program"}, "no-such-program"},
      {{"-n", "1", "--", "./no-such-program"}, "a program that can be executed"},
      {{"--hosts", "a:0", "--", "true"}, "a:0"},
      {{"--hosts", "a", "--", "true"}, "the number of ranks"},
      {{"-n", "3", "--hosts", "a:2", "--", "true"}, "at most the 2"},
      {{"-n", "1", "--hosts", "a", "--bind", "cores", "--", "true"}, "--bind"},
      {{"-n", "1", "--bind", "sockets", "--", "true"}, "sockets"},
      {{"-n", "1", "--launcher", " ", "--hosts", "a", "--", "true"}, "--launcher"},
      {{"-n", "1", "-x", "=3", "--", "true"}, "NAME=VALUE"},
      {{"-n", "1", "-x", "RANK=3", "--", "true"}, "RANK=3"},
      {{"-n", "1", "--timeout", "0", "--", "true"}, "--timeout"},
      {{"-n", "1", "--port", "65535", "--", "true"}, "--port"},
      {{"-n", "1", "--grce", "1", "--", "true"}, "--grace"},
  };
  for (const auto& [options, message] : cases) {
    Words words = {"run"};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome run = runCommand(words);
    EXPECT_EQ(run.status, 2) << message;
    EXPECT_THAT(run.errors, AllOf(StartsWith("xylem: "), HasSubstr(message)));
    EXPECT_EQ(run.output, "") << message;
  }
}

}  // namespace
}  // namespace xylem::testing
