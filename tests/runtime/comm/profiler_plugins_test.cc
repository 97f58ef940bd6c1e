// The events that profiler plugins of every version get about a communicator's calls.

#include <gmock/gmock.h>

#include <barrier>
#include <map>
#include <sstream>
#include <thread>

#include "core/deadline.h"
#include "runtime/comm/checked_rank.h"
#include "runtime/comm/host_threads.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/plugins/profiler/profiler_events.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class ProfilerOf : public ::testing::TestWithParam<int> {
 protected:
  std::string lines() const { return plugin_.lines(); }
  int living() const { return plugin_.living(); }
  // The plugin's name for a function: a number in version 1.
  static std::string word(const std::string& name, int number) {
    return GetParam() == 1 ? std::to_string(number) : name;
  }
  void SetUp() override { lines(); }

 private:
  ProfilerLibrary plugin_{GetParam()};
};

void calls(int rank, ncclComm_t comm) {
  std::vector<float> data(1000), other(1000);
  ASSERT_EQ(ncclAllReduce(data.data(), other.data(), 1000, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(data.data(), 500, ncclFloat32, 1 - rank, comm, nullptr), ncclSuccess);
  ASSERT_EQ(ncclRecv(other.data(), 500, ncclFloat32, 1 - rank, comm, nullptr), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(ncclBroadcast(data.data(), other.data(), 10, ncclFloat32, 1, comm, nullptr), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
}

TEST_P(ProfilerOf, GetsEveryCallBelowItsGroupAndEveryStartHasAStop) {
  for (const char* direct : {"0", "1"}) {
    const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}, {"XYLEM_DIRECT", direct}};
    expectAllJoined(runRanks(2, [&](int rank, ncclComm_t comm) {
      EXPECT_GE(living(), 1);
      calls(rank, comm);
    }));
    EXPECT_EQ(living(), 0);
    const std::map<int, ProfilerTold> events = eventsIn(lines());
    std::map<std::string, int> seen;
    for (const auto& [event, told] : events) {
      EXPECT_TRUE(told.stopped) << told.line;
      ++seen[told.line];
      if (told.line.ends_with("group")) {
        EXPECT_EQ(told.parent, "0");
        continue;
      }
      const auto parent = events.find(std::atoi(told.parent.c_str()));
      ASSERT_NE(parent, events.end()) << told.line;
      EXPECT_EQ(parent->second.line, told.line.substr(0, 6) + " group");
    }
    std::map<std::string, int> expected;
    for (const std::string rank : {"rank 0 ", "rank 1 "}) {
      const std::string peer = rank == "rank 0 " ? "1" : "0";
      expected[rank + "group"] = 3;
      expected[rank + "coll " + word("AllReduce", 4) + " 1000 " + word("float", 7) + " seq 0"] = 1;
      expected[rank + "coll " + word("Broadcast", 0) + " 10 " + word("float", 7) + " seq 1"] = 1;
      expected[rank + "p2p " + word("Send", 6) + " 500 " + word("float", 7) + " peer " + peer] = 1;
      expected[rank + "p2p " + word("Recv", 7) + " 500 " + word("float", 7) + " peer " + peer] = 1;
    }
    EXPECT_EQ(seen, expected);
  }
}

TEST_P(ProfilerOf, GetsOnlyTheKindsThatItWants) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}, {"TEST_PROFILER_MASK", "4"}};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) { calls(rank, comm); }));
  std::map<std::string, int> kinds;
  for (const auto& [event, told] : eventsIn(lines())) {
    EXPECT_TRUE(told.stopped);
    ++kinds[told.line.substr(7, 3)];
  }
  // A kind of events brings its ancestors.
  EXPECT_EQ(kinds["p2p"], 4);
  EXPECT_GT(kinds["gro"], 0);
  EXPECT_EQ(kinds.count("col"), 0u);
}

TEST_P(ProfilerOf, GetsTheNameOfTheCommunicator) {
  if (GetParam() < 4) return;  // the older ones get no name
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())},
                            {"TEST_PROFILER_NAME", "trainer"},
                            {"NCCL_SOCKET_IFNAME", "lo"}};
  for (const char* name : {"trainer", "another"}) {
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = name;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(living(), std::string(name) == "trainer" ? 1 : 0);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
}

TEST_P(ProfilerOf, OneThatDoesNotStartIsLeftOut) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}, {"TEST_PROFILER_INIT", "2"}};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) { calls(rank, comm); }));
  EXPECT_EQ(lines(), "");
}

void callsOfHosts(int rank, ncclComm_t comm) {
  const std::size_t count = 300000;
  std::vector<float> data(count), other(count);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  for (const std::size_t n : {count, std::size_t{10}})
    ASSERT_EQ(ncclAllReduce(data.data(), other.data(), n, ncclFloat32, ncclSum, comm, stream), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(data.data(), count, ncclFloat32, 3 - rank, comm, stream), ncclSuccess);
  ASSERT_EQ(ncclRecv(other.data(), count, ncclFloat32, 3 - rank, comm, stream), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << ncclGetLastError(comm);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_P(ProfilerOf, SeesEachStepThatGoesOverTheNetwork) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}, {"TEST_PROFILER_MASK", "24"}};
  expectAllJoined(runOnHosts(2, 2, [](int rank, ncclComm_t comm) { callsOfHosts(rank, comm); }));
  const std::map<int, ProfilerTold> events = eventsIn(lines());
  EXPECT_GT(expectAllSteps(events), 0);
  std::map<int, std::size_t> sent, received;  // bytes of the Send and the Recv, by rank
  for (const auto& [event, told] : events) {
    if (told.line.find(" op ") == std::string::npos) continue;
    const ProfilerPart part(told.line);
    EXPECT_NE(part.rank / 2, part.peer / 2) << told.line;
    ASSERT_FALSE(told.states.empty());
    EXPECT_EQ(told.states.back().state, part.sends ? 3 : 7);
    EXPECT_EQ(told.states.back().steps, part.steps);
    const ProfilerTold& call = events.at(std::atoi(told.parent.c_str()));
    if (call.line.find(" p2p ") != std::string::npos)
      (part.sends ? sent : received)[part.rank] += told.states.back().bytes;
    else
      EXPECT_THAT(call.line, HasSubstr(" coll " + word("AllReduce", 4)));
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(sent[rank], 1200000u);
    EXPECT_EQ(received[rank], 1200000u);
  }
}

TEST_P(ProfilerOf, HearsOfTheProgressThread) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}, {"TEST_PROFILER_MASK", "32"}};
  std::barrier heard(2);
  std::string all;
  expectAllJoined(runOnHosts(2, 1, [&](int rank, ncclComm_t comm) {
    // New queues wake the progress thread; without work it goes to sleep again.
    float out = 1, in = 0;
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(&out, 1, ncclFloat32, 1 - rank, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(&in, 1, ncclFloat32, 1 - rank, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    const auto heardOf = [&](const char* whom) { return all.find(whom) != std::string::npos; };
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    while (rank == 0 && !deadline.passed() && !(heardOf("rank 0 control") && heardOf("rank 1 control"))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      all += lines();
    }
    heard.arrive_and_wait();
  }));
  all += lines();
  std::map<std::string, std::vector<int>> statesOf;
  for (const auto& [event, told] : eventsIn(all)) {
    EXPECT_TRUE(told.line.ends_with(" control")) << told.line;
    EXPECT_TRUE(told.stopped);
    ASSERT_EQ(told.states.size(), 1u);
    statesOf[told.line].push_back(told.states[0].state);
  }
  EXPECT_EQ(statesOf.size(), 2u);
  for (const auto& [rank, states] : statesOf)
    for (std::size_t i = 0; i + 1 < states.size(); ++i) {
      EXPECT_TRUE(states[i] >= 13 && states[i] <= 16) << states[i];
      // A sleeping thread can only wake up.
      EXPECT_EQ(states[i] == 15, states[i + 1] == 16) << rank;
    }
}

// From version 4 on, other states; from version 5 on, the program's calls are the parents.
class LaterProfilerOf : public ProfilerOf {};

TEST_P(LaterProfilerOf, GetsEveryCallBelowItsParentAndEveryStartHasAStop) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) { calls(rank, comm); }));
  EXPECT_EQ(living(), 0);
  const std::map<int, ProfilerTold> events = eventsIn(lines());
  const auto parentOf = [&](const ProfilerTold& told) {
    const auto parent = events.find(std::atoi(told.parent.c_str()));
    return parent == events.end() ? std::string() : parent->second.line.substr(7);
  };
  std::map<std::string, int> seen;
  for (const auto& [event, told] : events) {
    EXPECT_TRUE(told.stopped) << told.line;
    ++seen[parentOf(told) + " > " + told.line.substr(7)];
  }
  std::map<std::string, int> expected;
  if (GetParam() == 4) {
    expected = {{" > group", 6},
                {"group > coll AllReduce 1000 float seq 0", 2},
                {"group > coll Broadcast 10 float seq 1", 2}};
    for (const char* name : {"Send", "Recv"})
      for (const char* peer : {"0", "1"})
        expected[std::string("group > p2p ") + name + " 500 float peer " + peer] = 1;
  } else {
    expected = {{" > group call", 6},
                {"group call > coll call AllReduce 1000", 2},
                {"coll call AllReduce 1000 > coll AllReduce 1000 float seq 0", 2},
                {"group call > coll call Broadcast 10", 2},
                {"coll call Broadcast 10 > coll Broadcast 10 float seq 1", 2}};
    for (const std::string name : {"Send", "Recv"}) {
      expected["group call > p2p call " + name + " 500"] = 2;
      for (const char* peer : {"0", "1"})
        expected["p2p call " + name + " 500 > p2p " + name + " 500 float peer " + peer] = 1;
    }
  }
  EXPECT_EQ(seen, expected);
}

TEST_P(LaterProfilerOf, SeesThePartsOfACallThatGoOverTheNetwork) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}, {"TEST_PROFILER_MASK", "24"}};
  expectAllJoined(runOnHosts(2, 2, [](int rank, ncclComm_t comm) { callsOfHosts(rank, comm); }));
  int parts = 0, steps = 0;
  for (const auto& [event, told] : eventsIn(lines())) {
    EXPECT_TRUE(told.stopped) << told.line;
    std::vector<int> states;
    for (const ProfilerState& state : told.states) states.push_back(state.state);
    if (told.line.find(" op ") != std::string::npos) {
      ++parts;
      EXPECT_EQ(std::count(states.begin(), states.end(), 19), std::ssize(states)) << told.line;
    } else if (told.line.find(" step ") != std::string::npos) {
      ++steps;
      EXPECT_THAT(states, AnyOf(ElementsAre(8, 9), ElementsAre(10, 12))) << told.line;
    }
  }
  EXPECT_GT(parts, 0);
  EXPECT_GE(steps, parts);
}

// From version 3 on, a call has an event on each channel where it is at work.
class ChannelProfilerOf : public ProfilerOf {};

TEST_P(ChannelProfilerOf, SeesCallsAtWorkOnTheirChannels) {
  for (const bool direct : {false, true}) {
    const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())},
                              {"TEST_PROFILER_MASK", kOnlyChannels},
                              {"XYLEM_DIRECT", direct ? "1" : "0"},
                              {"NCCL_MIN_NCHANNELS", "2"}};
    expectAllJoined(runRanks(2, [&](int rank, ncclComm_t comm) {
      calls(rank, comm);
      std::vector<float> data(1 << 20);
      ASSERT_EQ(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat32, ncclSum, comm, nullptr),
                ncclSuccess);
      ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    }));
    std::map<std::string, int> seen = expectAllChannels(GetParam(), lines());
    EXPECT_EQ(seen["coll AllReduce 1048576 float seq 2 on " + std::string(direct ? "1" : "2")], 2);
    EXPECT_EQ(seen["coll AllReduce 1000 float seq 0 on 1"], 2);
    EXPECT_EQ(seen["coll Broadcast 10 float seq 1 on 1"], 2);
  }
}

// Many small collectives of a group may be one exchange; the calls that are repeated find their items made.
TEST_P(ChannelProfilerOf, SeesEachCallOfAGroup) {
  constexpr int kCalls = 20, kTimes = 3;
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())},
                            {"TEST_PROFILER_MASK", kOnlyChannels}};
  expectAllJoined(runRanks(2, [&](int, ncclComm_t comm) {
    std::vector<float> data(kCalls * 10);
    for (int time = 0; time < kTimes; ++time) {
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      for (int i = 0; i < kCalls; ++i) {
        float* const at = data.data() + 10 * i;
        ASSERT_EQ(ncclAllReduce(at, at, 10, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
      }
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
      ASSERT_EQ(ncclAllReduce(data.data(), data.data(), 1, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
      ASSERT_EQ(ncclAllReduce(data.data(), data.data(), 1, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
    }
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  }));
  int seen = 0;
  for (const auto& [line, times] : expectAllChannels(GetParam(), lines())) {
    EXPECT_TRUE(line.ends_with(" on 1")) << line;
    seen += times;
  }
  EXPECT_EQ(seen, 2 * kTimes * (kCalls + 2));
}

// Work that never ends has an end for the profiler all the same.
TEST_P(ChannelProfilerOf, AnAbortEndsTheEventsOfItsCalls) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())},
                            {"TEST_PROFILER_MASK", kOnlyChannels},
                            {"XYLEM_DIRECT", "0"}};
  std::barrier called(2);
  std::string all;
  expectAllJoined(runRanks(2, [&](int rank, ncclComm_t kept) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommSplit(kept, 0, rank, &comm, nullptr), ncclSuccess);
    std::vector<float> data(1 << 20);
    if (rank == 0) {
      EXPECT_EQ(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat32, ncclSum, comm, nullptr),
                ncclSuccess);
    }
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    while (rank == 0 && !deadline.passed() && all.find(" channel ") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      all += lines();
    }
    called.arrive_and_wait();
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    cudaStreamSynchronize(nullptr);  // takes the error out of the stream, where the next test would find it
  }));
  all += lines();
  EXPECT_THAT(all, HasSubstr(" channel "));
  for (const auto& [event, told] : eventsIn(all)) EXPECT_TRUE(told.stopped) << told.line;
}

INSTANTIATE_TEST_SUITE_P(Versions, ChannelProfilerOf, ::testing::Values(3, 4, 5, 6),
                         [](const auto& version) { return "v" + std::to_string(version.param); });
INSTANTIATE_TEST_SUITE_P(Versions, LaterProfilerOf, ::testing::Values(4, 5, 6),
                         [](const auto& version) { return "v" + std::to_string(version.param); });
INSTANTIATE_TEST_SUITE_P(Versions, ProfilerOf, ::testing::Values(1, 2, 3),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

}  // namespace
}  // namespace xylem::comm
