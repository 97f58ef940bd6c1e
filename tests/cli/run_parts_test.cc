// The parts of `xylem run`: the places of ranks, their variables, the lines of their output, and the
// launcher, which `xylem perf` uses, too.

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "cli/run/launcher.h"
#include "cli/run/placement.h"
#include "cli/run/remote.h"
#include "cli/run/streams.h"
#include "core/error.h"
#include "runtime/launch/launched_process.h"

namespace xylem::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RunBinding, SharesAreEqualAndCoverAll) {
  std::vector<int> cpus = {0, 4, 1, 5, 2, 6, 3};
  for (int parts = 1; parts <= 7; ++parts) {
    std::vector<int> all;
    for (int part = 0; part < parts; ++part) {
      const std::vector<int> share = shareOf(cpus, part, parts);
      EXPECT_GE(share.size(), 7u / static_cast<unsigned>(parts));
      EXPECT_LE(share.size(), 7u / static_cast<unsigned>(parts) + 1);
      all.insert(all.end(), share.begin(), share.end());
    }
    EXPECT_EQ(all, cpus) << parts;
  }
  EXPECT_THAT(shareOf(cpus, 8, 10), ElementsAre(4)) << "taking turns";
  EXPECT_THAT(shareOf({}, 0, 2), ElementsAre());
}

std::vector<std::string> textOf(const std::vector<RankPlace>& places) {
  std::vector<std::string> words;
  for (const RankPlace& place : places)
    words.push_back(place.host + " " + std::to_string(place.localRank) + "/" +
                    std::to_string(place.localRanks));
  return words;
}

std::vector<std::string> placed(const char* hosts, int ranks) {
  return textOf(placeRanks(parseRunHosts(hosts), ranks));
}

TEST(RunHosts, RanksGoHostAfterHost) {
  EXPECT_THAT(placed("a:2,b:1", 0), ElementsAre("a 0/2", "a 1/2", "b 0/1"));
  EXPECT_THAT(placed("a:2,b", 5), ElementsAre("a 0/2", "a 1/2", "b 0/3", "b 1/3", "b 2/3"));
  EXPECT_THAT(placed("a,b", 3), ElementsAre("a 0/2", "a 1/2", "b 0/1"));
  EXPECT_THAT(placed("a:4,b:4", 5), ElementsAre("a 0/4", "a 1/4", "a 2/4", "a 3/4", "b 0/1"));
  EXPECT_THAT(placed("a,b", 1), ElementsAre("a 0/1"));
  EXPECT_THAT(placed("me@[fd00::1]:1,[::2]", 2), ElementsAre("me@[fd00::1] 0/1", "[::2] 0/1"));
  EXPECT_EQ(placeRanks(parseRunHosts("a:2,b:1"), 0)[2].hostIndex, 1);
}

TEST(RunHosts, AHostThatIsNamedTwiceIsOne) {
  EXPECT_THAT(placed("a:1,b:1,a:1", 0), ElementsAre("a 0/2", "a 1/2", "b 0/1"));
  EXPECT_THAT(placed("a,a", 2), ElementsAre("a 0/2", "a 1/2"));
  EXPECT_THAT(placed("a:1, b:1 ", 0), ElementsAre("a 0/1", "b 0/1"));
}

TEST(RunHosts, WhatCannotBeIsTold) {
  const auto complaint = [](const char* hosts, int ranks) -> std::string {
    try {
      placeRanks(parseRunHosts(hosts), ranks);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing";
  };
  for (const char* hosts : {"", "a,", ":2", "a:", "a:0", "a:x", "a:2x", "a:-1", "a:5000", "-oProxy=x"})
    EXPECT_THAT(complaint(hosts, 4), HasSubstr("--hosts")) << hosts;
  EXPECT_THAT(complaint("a:2,b", 0), HasSubstr("the number of ranks"));
  EXPECT_THAT(complaint("a:2,b:2", 5), HasSubstr("at most the 4 that --hosts has room for"));
}

TEST(RunEnvironment, EveryLaunchersNamesSayTheSame) {
  const RunMeeting meeting{8, "node1", 5000, "node1:5001", "not told here"};
  std::map<std::string, std::string> all;
  for (const auto& [name, value] : rankVariables({"node2", 1, 1, 4}, 5, meeting)) all[name] = value;
  EXPECT_EQ(all["MASTER_ADDR"], "node1");
  EXPECT_EQ(all["MASTER_PORT"], "5000");
  EXPECT_EQ(all["NCCL_COMM_ID"], "node1:5001");
  for (const auto& [name, value] : all) EXPECT_NE(value, meeting.secret) << name;
  // Each launcher's variables alone mean the same.
  for (const std::string launcher : {"OMPI_", "PMI_ MPI_", "RANK WORLD_ LOCAL_"}) {
    const auto launch = launch::launchedProcess([&](const char* name) -> const char* {
      const std::string_view text = name;
      const std::string start(text.substr(0, text.find('_') + 1));
      const bool known = launcher.find(start.empty() ? name : start) != std::string::npos;
      return known && all.contains(name) ? all[name].c_str() : nullptr;
    });
    ASSERT_TRUE(launch.has_value()) << launcher;
    EXPECT_EQ(launch->rank, 5) << launcher;
    EXPECT_EQ(launch->size, 8) << launcher;
    EXPECT_EQ(launch->localRank, 1) << launcher;
    EXPECT_EQ(launch->localSize, 4) << launcher;
  }
}

TEST(RunEnvironment, HereItIsTheLoopback) {
  unsetenv("NCCL_COMM_ID");
  unsetenv("XYLEM_SECRET");
  const auto here = placeRanks(parseRunHosts("localhost"), 2);
  const RunMeeting meeting = meetingFor(here, 0);
  EXPECT_EQ(meeting.ranks, 2);
  EXPECT_EQ(meeting.address, "127.0.0.1");
  EXPECT_GT(meeting.masterPort, 0);
  EXPECT_THAT(meeting.commId, HasSubstr("127.0.0.1:"));
  EXPECT_NE(meeting.commId, "127.0.0.1:" + std::to_string(meeting.masterPort)) << "two may listen";
  EXPECT_EQ(meeting.secret.size(), 64u);
  EXPECT_NE(meetingFor(here, 0).secret, meeting.secret);

  EXPECT_EQ(meetingFor(here, 5000).masterPort, 5000);
  EXPECT_EQ(meetingFor(here, 5000).commId, "127.0.0.1:5001");
  // With others in the job it is a name that they can reach; an IPv6 address gets its brackets.
  EXPECT_NE(meetingFor(placeRanks(parseRunHosts("localhost,elsewhere"), 2), 0).address, "127.0.0.1");
  const RunMeeting there = meetingFor(placeRanks(parseRunHosts("me@[fd00::1]:1,b:1"), 0), 5000);
  EXPECT_EQ(there.address, "fd00::1");
  EXPECT_EQ(there.commId, "[fd00::1]:5001");

  setenv("NCCL_COMM_ID", "10.0.0.1:7", 1);
  setenv("XYLEM_SECRET", "ours", 1);
  EXPECT_EQ(meetingFor(here, 0).commId, "10.0.0.1:7") << "who says so already is believed";
  EXPECT_EQ(meetingFor(here, 0).secret, "ours");
  unsetenv("NCCL_COMM_ID");
  unsetenv("XYLEM_SECRET");
}

TEST(RunLines, OnlyWholeLinesComeOut) {
  LineTagger lines("[3] ");
  EXPECT_EQ(lines.add("half a li"), "");
  EXPECT_EQ(lines.add("ne\nand\n\nano"), "[3] half a line\n[3] and\n[3] \n");
  EXPECT_EQ(lines.add("ther"), "");
  EXPECT_EQ(lines.finish(), "[3] another\n");
  EXPECT_EQ(lines.finish(), "");
  EXPECT_EQ(lines.add("a\n"), "[3] a\n");

  // A rank that never ends a line does not fill the memory, and nothing is lost.
  const std::string part(LineTagger::kMaxLineLength, 'x');
  EXPECT_EQ(lines.add(part.substr(1)), "");
  EXPECT_EQ(lines.add("xyz\n"), "[3] " + part + "\n[3] yz\n");
  EXPECT_EQ(lines.add(part + "\n"), "[3] " + part + "\n") << "no empty line after one that just fits";
}

const Variables kVariables = {{"RANK", "1"}, {"GREETING", "it's me"}};

TEST(RunRemote, OthersGetWords) {
  const auto words = remoteWords("ip netns exec {host}", "red", {"echo", "a b"}, kVariables, 7);
  ASSERT_EQ(words.size(), 14u);
  EXPECT_THAT((std::vector(words.begin(), words.begin() + 6)),
              ElementsAre("ip", "netns", "exec", "red", "sh", "-c"));
  EXPECT_THAT((std::vector(words.begin() + 7, words.end())),
              ElementsAre("xylem-run", std::filesystem::current_path().string(), "7", "RANK=1",
                          "GREETING=it's me", "echo", "a b"));
  EXPECT_EQ(remoteWords("srun -w", "red", {"true"}, {}, 5)[2], "red") << "last, if it is not named";
  EXPECT_EQ(remoteWords("exec --on={host} now", "red", {"true"}, {}, 5)[1], "--on=red");
  EXPECT_EQ(remoteWords("mpirun --mca plm_rsh_agent ssh -host", "red", {"true"}, {}, 5)[6], "sh");
  EXPECT_THROW(remoteWords("  ", "red", {"true"}, {}, 5), InputError);
}

TEST(RunRemote, SshGetsOneWordForItsShell) {
  for (const char* ssh :
       {"ssh -o BatchMode=yes {host}", "/usr/bin/ssh -4 {host}", "rsh -x {host}", "env LANG=C ssh {host}"}) {
    const auto words = remoteWords(ssh, "red", {"echo", "a b"}, kVariables, 5);
    ASSERT_EQ(words.back().substr(0, 9), "'sh' '-c'") << ssh;
    EXPECT_THAT(words.back(), HasSubstr(R"('GREETING=it'\''s me' 'echo' 'a b')"));
    EXPECT_EQ(words[words.size() - 2], "red") << ssh;
  }
  EXPECT_EQ(quoted("it's"), R"('it'\''s')");
  EXPECT_EQ(quoted(""), "''");
}

// A process that stays until it is ended.
ProcessStart idle(int rank) {
  return {.rank = rank, .host = "here", .run = [] {
            for (;;) pause();
            return 0;
          }};
}

TEST(Launcher, AllSucceed) {
  Launcher launcher({});
  for (int rank = 0; rank < 3; ++rank)
    launcher.start({.rank = rank, .host = "here", .run = [] { return 0; }});
  EXPECT_EQ(launcher.running(), 3);
  EXPECT_EQ(launcher.run(), 0);
  EXPECT_EQ(launcher.running(), 0);
}

TEST(Launcher, TheFirstFailureEndsAll) {
  Launcher launcher({});
  launcher.start(idle(0));
  launcher.start({.rank = 1, .host = "here", .run = [] { return 7; }});
  launcher.start(idle(2));
  EXPECT_EQ(launcher.run(), 7);
  EXPECT_TRUE(launcher.ending());
}

TEST(Launcher, AnExceptionInAProcessIsAFailure) {
  Launcher launcher({});
  launcher.start({.rank = 0, .host = "here", .run = []() -> int { throw std::runtime_error("broken"); }});
  EXPECT_NE(launcher.run(), 0);
}

TEST(Launcher, ItsOwnerHearsAndDecides) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::vector<std::string> heard;
  const auto onEnd = [&](Launcher&, const JobProcess& process) {
    heard.push_back(std::to_string(process.rank()) + " " + process.ending());
  };
  const auto onTimeout = [](Launcher& launcher) { launcher.end(5, SIGTERM, "time is up"); };
  Launcher launcher({.onEnd = onEnd, .onTimeout = onTimeout});
  launcher.start({.rank = 3, .host = "here", .run = [&] { return write(ends[1], "x", 1) == 1 ? 2 : 3; }});
  launcher.start(idle(4));
  launcher.watch(ends[0], [&] {
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    heard.push_back("a byte");
    launcher.setTimeout(Deadline::after(std::chrono::milliseconds(300)));
    return false;
  });
  EXPECT_EQ(launcher.run(), 5);
  EXPECT_THAT(heard, ::testing::UnorderedElementsAre("a byte", "3 exited with status 2"));
  close(ends[0]);
  close(ends[1]);
}

TEST(Launcher, ItsOwnersExceptionKillsAll) {
  {
    Launcher launcher({.onTimeout = [](Launcher&) { throw std::runtime_error("enough"); }});
    launcher.start(idle(0));
    launcher.start({.rank = 1, .host = "here", .run = [] { return 0; }});
    launcher.setTimeout(Deadline::after(std::chrono::milliseconds(1)));
    EXPECT_THROW(launcher.run(), std::runtime_error);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

}  // namespace
}  // namespace xylem::cli
