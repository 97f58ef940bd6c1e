// The events that profiler plugins get about calls on GPUs, on GPUs that are threads of the CPU.

#include <gmock/gmock.h>

#include <barrier>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/deadline.h"
#include "runtime/comm/host_threads.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"
#include "runtime/plugins/profiler/profiler_events.h"

namespace xylem::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GpuProfilerOf : public ::testing::TestWithParam<int> {
 protected:
  static std::map<std::string, std::string> variables(const char* algorithm) {
    std::map<std::string, std::string> all = variablesOf(algorithm, "Simple");
    all["NCCL_PROFILER_PLUGIN"] = profilerFile(GetParam());
    all["TEST_PROFILER_MASK"] = kOnlyChannels;
    all["NCCL_MIN_CTAS"] = "2";
    return all;
  }
  void SetUp() override { plugin_.lines(); }
  // The plugin's lines until there is one of a channel.
  std::string awaitChannel() const {
    std::string all;
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    while (!deadline.passed() && all.find(" channel ") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      all += plugin_.lines();
    }
    return all;
  }

  const ProfilerLibrary plugin_{GetParam()};
};

// A tree's channel has two programs at once, and is one event.
TEST_P(GpuProfilerOf, SeesCallsAtWorkOnTheirChannels) {
  constexpr int kRanks = 4;
  constexpr std::size_t kCount = 20000;
  for (const char* algorithm : {"Ring", "Tree"}) {
    const Environment environment(variables(algorithm));
    MappedGpus gpus;
    {
      Ranks ranks(&gpus, kRanks);
      std::vector<std::byte*> data;
      for (int rank = 0; rank < kRanks; ++rank) data.push_back(ranks.memory(rank, kCount * sizeof(float)));
      const auto onAll = [&](auto&& call) {
        ASSERT_EQ(ncclGroupStart(), ncclSuccess);
        for (int rank = 0; rank < kRanks; ++rank)
          ASSERT_EQ(call(rank, data[static_cast<std::size_t>(rank)], ranks.comm(rank), ranks.stream(rank)),
                    ncclSuccess);
        ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
      };
      for (int time = 0; time < 3; ++time)
        onAll([](int, std::byte* at, ncclComm_t comm, cudaStream_t stream) {
          return ncclAllReduce(at, at, kCount, ncclFloat32, ncclSum, comm, stream);
        });
      onAll([](int rank, std::byte* at, ncclComm_t comm, cudaStream_t stream) {
        const ncclResult_t sent = ncclSend(at, 100, ncclFloat32, (rank + 1) % kRanks, comm, stream);
        return sent != ncclSuccess
                   ? sent
                   : ncclRecv(at + 4096, 100, ncclFloat32, (rank + kRanks - 1) % kRanks, comm, stream);
      });
      ranks.await();
    }
    std::map<std::string, int> seen = expectAllChannels(GetParam(), plugin_.lines());
    for (const char* number : {"0", "1", "2"})
      EXPECT_EQ(seen["coll AllReduce 20000 float seq " + std::string(number) + " on 2"], kRanks) << algorithm;
    int transfers = 0;
    for (const auto& [line, times] : seen)
      if (line.starts_with("p2p ")) transfers += times;
    EXPECT_EQ(transfers, 2 * kRanks);
  }
}

// The first event comes while the kernel waits for the rank that does not call.
TEST_P(GpuProfilerOf, SeesACallBeginBeforeItEnds) {
  const Environment environment(variables("Ring"));
  MappedGpus gpus;
  std::string all;
  {
    Ranks ranks(&gpus, 2);
    std::byte* const data[] = {ranks.memory(0, 4000), ranks.memory(1, 4000)};
    const auto call = [&](int rank) {
      gpus.setDevice(rank);
      EXPECT_EQ(ncclAllReduce(data[rank], data[rank], 1000, ncclFloat32, ncclSum, ranks.comm(rank),
                              ranks.stream(rank)),
                ncclSuccess)
          << ncclGetLastError(nullptr);
    };
    call(0);
    all = awaitChannel();
    EXPECT_THAT(all, HasSubstr("rank 0 channel "));
    for (const auto& [event, told] : eventsIn(all))
      EXPECT_TRUE(told.line.find(" channel ") == std::string::npos || !told.stopped) << told.line;
    call(1);
    ranks.await();
  }
  expectAllChannels(GetParam(), all + plugin_.lines());
}

TEST_P(GpuProfilerOf, AnAbortEndsTheEventsOfItsCalls) {
  const Environment environment(variables("Tree"));
  setenv("XYLEM_DEVICE", "auto", 1);
  MappedGpus gpus;
  gpus.setDevice(0);
  std::vector<ncclComm_t> comms(3);
  ASSERT_EQ(ncclCommInitAll(comms.data(), 3, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
  void* const data = gpus.allocate(400000);
  ASSERT_EQ(ncclAllReduce(data, data, 100000, ncclFloat32, ncclSum, comms[0], stream), ncclSuccess);
  const std::string before = awaitChannel();
  EXPECT_THAT(before, HasSubstr("rank 0 channel "));
  EXPECT_EQ(ncclCommAbort(comms[0]), ncclSuccess);
  gpus.await(stream);
  for (const int rank : {1, 2}) EXPECT_EQ(ncclCommAbort(comms[static_cast<std::size_t>(rank)]), ncclSuccess);
  expectAllChannels(GetParam(), before + plugin_.lines());
}

// The profiler hears of the calls that are captured, not of replays.
TEST_P(GpuProfilerOf, SeesNoReplays) {
  const Environment environment(variables("Ring"));
  MappedGpus gpus;
  {
    Ranks ranks(&gpus, 2);
    std::vector<MappedGpus::Graph> graphs;
    for (int rank = 0; rank < 2; ++rank) {
      std::byte* const data = ranks.memory(rank, 400);
      gpus.setDevice(rank);
      gpus.beginCapture(ranks.stream(rank));
      EXPECT_EQ(ncclAllReduce(data, data, 100, ncclFloat32, ncclSum, ranks.comm(rank), ranks.stream(rank)),
                ncclSuccess);
      graphs.push_back(gpus.endCapture(ranks.stream(rank)));
    }
    for (int rank = 0; rank < 2; ++rank)
      gpus.replay(graphs[static_cast<std::size_t>(rank)], ranks.stream(rank));
    ranks.await();
    EXPECT_EQ(gpus.launches(), 2);
  }
  const std::string lines = plugin_.lines();
  EXPECT_THAT(lines, HasSubstr("coll AllReduce 100 float"));
  EXPECT_THAT(lines, Not(HasSubstr(" channel ")));
}

// Ranks 0 and 1 are on one host, 2 and 3 on another: all-reduces of several steps, and messages across.
void callsAcrossHosts(MappedGpus& gpus, int rank, ncclComm_t comm) {
  constexpr std::size_t kCount = 20000;
  const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
  void* const data = gpus.allocate(kCount * sizeof(float));
  void* const other = gpus.allocate(kCount * sizeof(float));
  for (const std::size_t count : {kCount, std::size_t{10}, kCount})
    ASSERT_EQ(ncclAllReduce(data, other, count, ncclFloat32, ncclSum, comm, stream), ncclSuccess)
        << ncclGetLastError(comm);
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclSend(data, kCount, ncclFloat32, 3 - rank, comm, stream), ncclSuccess);
    ASSERT_EQ(ncclRecv(other, kCount, ncclFloat32, 3 - rank, comm, stream), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
  }
  gpus.await(stream);
}

std::map<std::string, std::string> variablesOfSteps(int version) {
  std::map<std::string, std::string> all = variablesOf("Ring", "Simple");
  all["NCCL_PROFILER_PLUGIN"] = profilerFile(version);
  all["TEST_PROFILER_MASK"] = "24";
  return all;
}

TEST_P(GpuProfilerOf, SeesEachStepThatGoesOverTheNetwork) {
  const Environment environment(variablesOfSteps(GetParam()));
  MappedGpus gpus;
  expectAllJoined(runOnHosts(
      2, 2, [&](int rank, ncclComm_t comm) { callsAcrossHosts(gpus, rank, comm); },
      [&](int rank) { gpus.setDevice(rank); }));
  const std::map<int, ProfilerTold> events = eventsIn(plugin_.lines());
  // Two ends of the ring between the hosts, a send and a receive each, for three calls on each channel; the messages' parts.
  EXPECT_GE(expectAllSteps(events), 2 * 2 * 3 + 4 * 2 * 2);
  std::map<int, std::size_t> sent, received;  // bytes of the messages, by rank
  for (const auto& [event, told] : events) {
    if (told.line.find(" op ") == std::string::npos) continue;
    const ProfilerPart part(told.line);
    EXPECT_NE(part.rank / 2, part.peer / 2) << told.line;
    const bool message = events.at(std::atoi(told.parent.c_str())).line.find(" p2p ") != std::string::npos;
    if (GetParam() == 3 && message) (part.sends ? sent : received)[part.rank] += told.states.back().bytes;
  }
  for (int rank = 0; rank < 4 && GetParam() == 3; ++rank) {
    EXPECT_EQ(sent[rank], 2 * 80000u);
    EXPECT_EQ(received[rank], 2 * 80000u);
  }
}

// No call announces the steps of a replay, so the profiler hears of no further ones.
TEST_P(GpuProfilerOf, SeesNoStepsOnceAGraphHasSome) {
  const Environment environment(variablesOfSteps(GetParam()));
  MappedGpus gpus;
  std::barrier allocated(2);
  expectAllJoined(runOnHosts(
      2, 1,
      [&](int rank, ncclComm_t comm) {
        const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
        void* const data = gpus.allocate(40000);
        allocated.arrive_and_wait();  // the driver gives no memory while a stream is captured
        const auto call = [&] {
          ASSERT_EQ(ncclAllReduce(data, data, 10000, ncclFloat32, ncclSum, comm, stream), ncclSuccess)
              << ncclGetLastError(comm);
        };
        call();
        gpus.beginCapture(stream);
        call();
        const MappedGpus::Graph graph = gpus.endCapture(stream);
        gpus.replay(graph, stream);
        call();
        gpus.await(stream);
        EXPECT_GE(rank, 0);
      },
      [&](int rank) { gpus.setDevice(rank); }));
  const std::map<int, ProfilerTold> events = eventsIn(plugin_.lines());
  const int parts = expectAllSteps(events);
  EXPECT_GT(parts, 0);
  std::set<std::string> calls;
  for (const auto& [event, told] : events)
    if (told.line.find(" op ") != std::string::npos) calls.insert(told.parent);
  EXPECT_EQ(calls.size(), 2u) << "the first call of each rank";
}

INSTANTIATE_TEST_SUITE_P(Versions, GpuProfilerOf, ::testing::Values(3, 4, 6),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

}  // namespace
}  // namespace xylem::testing
