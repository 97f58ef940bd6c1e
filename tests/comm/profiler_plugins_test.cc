// What profiler plugins of every version are told about a communicator's calls.

#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "comm/checked_rank.h"
#include "comm/rank_threads.h"
#include "core/shared_library.h"

namespace xylem {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string profilerFile(int version) {
  return std::string(XYLEM_TEST_PLUGINS) + "/libnccl-profiler-test" + std::to_string(version) + ".so";
}

struct Told {
  std::string line;  // without numbers of events
  std::string parent;
  bool stopped = false;
};

// By the number of the event. Fails for a stop without a start, or a second one.
std::map<int, Told> eventsIn(const std::string& lines) {
  std::map<int, Told> events;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word, of, parent;
    int event = 0;
    words >> word >> event;
    if (word == "start") {
      words >> of >> parent;
      std::getline(words >> std::ws, events[event].line);
      events[event].parent = parent;
    } else {
      EXPECT_EQ(word, "stop") << line;
      EXPECT_TRUE(events.count(event) == 1 && !events[event].stopped) << line;
      events[event].stopped = true;
    }
  }
  return events;
}

class ProfilerOf : public ::testing::TestWithParam<int> {
 protected:
  std::string lines() const { return library_.function<const char*()>("testProfilerLines")(); }
  int living() const { return library_.function<int()>("testProfilersLiving")(); }
  // So the plugin calls things: by number in version 1.
  static std::string word(const std::string& name, int number) {
    return GetParam() == 1 ? std::to_string(number) : name;
  }
  void SetUp() override { lines(); }

 private:
  SharedLibrary library_{profilerFile(GetParam())};
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
    const std::map<int, Told> events = eventsIn(lines());
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
  // Ancestors come along.
  EXPECT_EQ(kinds["p2p"], 4);
  EXPECT_GT(kinds["gro"], 0);
  EXPECT_EQ(kinds.count("col"), 0u);
}

TEST_P(ProfilerOf, OneThatDoesNotStartIsLeftOut) {
  const Variables variables{{"NCCL_PROFILER_PLUGIN", profilerFile(GetParam())}, {"TEST_PROFILER_INIT", "2"}};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) { calls(rank, comm); }));
  EXPECT_EQ(lines(), "");
}

INSTANTIATE_TEST_SUITE_P(Versions, ProfilerOf, ::testing::Values(1, 2),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

}  // namespace
}  // namespace xylem
