// CUDA graphs of calls on GPUs that are threads of the CPU: results of replays, launches that graphs have had, a rank that does not replay.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"

namespace xylem::testing {
namespace gpu_graphs {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Graphs of collectives, and of sends and receives that connect while they are captured;
// replayed in turns, with calls between them, and over a network.
class GpuGraphs : public ::testing::TestWithParam<const char*> {};

TEST_P(GpuGraphs, GiveTheResultsOfTheCallsAgainAndAgain) {
  const bool overNetwork = std::string(GetParam()) == "Network";
  const Environment environment(variablesOf("Ring,Tree", "Simple,LL,LL128", overNetwork));
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 3000;
  MappedGpus gpus;
  {
    Ranks ranks(&gpus, kRanks);
    std::vector<float*> data, sums, received;
    std::vector<cudaStream_t> second;
    for (int rank = 0; rank < kRanks; ++rank) {
      data.push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
      sums.push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
      received.push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
      second.push_back(static_cast<cudaStream_t>(gpus.makeStream()));
      std::fill_n(data.back(), kCount, 1.0f);
      std::fill_n(received.back(), kCount, 1.0f);
    }
    const auto allReduce = [&](int rank, float* in, float* out, cudaStream_t stream) {
      EXPECT_EQ(ncclAllReduce(in, out, kCount, ncclFloat, ncclSum, ranks.comm(rank), stream), ncclSuccess)
          << ncclGetLastError(nullptr);
    };
    const std::size_t onGpus = gpus.allocatedOnGpus();
    // Each rank captures a group of two sums on two streams, and a third one after it.
    std::vector<MappedGpus::Graph> graphs;
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      gpus.setDevice(rank);
      gpus.beginCapture(ranks.stream(rank));
      gpus.joinCapture(ranks.stream(rank), second[r]);
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      allReduce(rank, data[r], sums[r], ranks.stream(rank));
      allReduce(rank, received[r], received[r], second[r]);
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
      allReduce(rank, sums[r], data[r], second[r]);
      graphs.push_back(gpus.endCapture(ranks.stream(rank)));
    }
    EXPECT_EQ(data[0][0], 1.0f) << "a capture runs nothing";
    EXPECT_EQ(gpus.allocatedOnGpus(), onGpus) << "that graphs keep";
    float expected = 1, beside = 1;
    for (int replay = 0; replay < 5; ++replay) {
      for (int rank = 0; rank < kRanks; ++rank)
        gpus.replay(graphs[static_cast<std::size_t>(rank)], ranks.stream(rank));
      ranks.await();
      expected *= kRanks * kRanks;
      beside *= kRanks;
      EXPECT_EQ(received[1][kCount / 2], beside);
      for (int rank = 0; rank < kRanks; ++rank)
        EXPECT_EQ(std::count(data[static_cast<std::size_t>(rank)],
                             data[static_cast<std::size_t>(rank)] + kCount, expected),
                  static_cast<std::ptrdiff_t>(kCount));
      if (replay != 2) continue;
      // A call that is not captured goes between two replays.
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      for (int rank = 0; rank < kRanks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        allReduce(rank, data[r], sums[r], ranks.stream(rank));
      }
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
      ranks.await();
      EXPECT_EQ(sums[1][kCount - 1], expected * kRanks);
    }
    // The launches of graphs that are gone are taken again, once the tasks that watched their replays are over.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::size_t held = gpus.allocated();
    graphs.clear();
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      gpus.setDevice(rank);
      gpus.beginCapture(ranks.stream(rank));
      for (int i = 0; i < 2; ++i) allReduce(rank, data[r], sums[r], ranks.stream(rank));
      graphs.push_back(gpus.endCapture(ranks.stream(rank)));
    }
    EXPECT_EQ(gpus.allocated(), held);
    // Sends and receives in a ring, which connect while they are captured.
    std::vector<std::thread> threads;
    graphs.resize(kRanks);
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        const auto r = static_cast<std::size_t>(rank);
        gpus.setDevice(rank);
        gpus.beginCapture(ranks.stream(rank));
        EXPECT_EQ(ncclGroupStart(), ncclSuccess);
        EXPECT_EQ(
            ncclSend(data[r], kCount, ncclFloat, (rank + 1) % kRanks, ranks.comm(rank), ranks.stream(rank)),
            ncclSuccess);
        EXPECT_EQ(ncclRecv(received[r], kCount, ncclFloat, (rank + kRanks - 1) % kRanks, ranks.comm(rank),
                           ranks.stream(rank)),
                  ncclSuccess);
        EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
        graphs[r] = gpus.endCapture(ranks.stream(rank));
      });
    for (std::thread& thread : threads) thread.join();
    for (int replay = 1; replay <= 3; ++replay) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::fill_n(data[r], kCount, static_cast<float>(10 * replay + rank));
      }
      for (int rank = 0; rank < kRanks; ++rank)
        gpus.replay(graphs[static_cast<std::size_t>(rank)], ranks.stream(rank));
      ranks.await();
      for (int rank = 0; rank < kRanks; ++rank) {
        float* const from = received[static_cast<std::size_t>(rank)];
        EXPECT_EQ(
            std::count(from, from + kCount, static_cast<float>(10 * replay + (rank + kRanks - 1) % kRanks)),
            static_cast<std::ptrdiff_t>(kCount));
      }
    }
  }
  EXPECT_EQ(gpus.allocated(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Over, GpuGraphs, ::testing::Values("SharedMemory", "Network"),
                         [](const auto& info) { return info.param; });

// As programs do for cudaGraphExecUpdate: each step is captured anew, with other buffers, while replays of the one before may still run.
TEST(GpuGraphBuffers, MayBeOthersInEachCapture) {
  const Environment environment(variablesOf("Ring", "Simple"));
  constexpr int kRanks = 2, kSteps = 48;
  constexpr std::size_t kCount = 20000;
  MappedGpus gpus;
  {
    Ranks ranks(&gpus, kRanks);
    std::vector<float*> in[kRanks], out[kRanks];
    for (int rank = 0; rank < kRanks; ++rank)
      for (int i = 0; i < 3; ++i) {
        in[rank].push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
        out[rank].push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
        std::fill_n(in[rank].back(), kCount, static_cast<float>(i + 1));
      }
    MappedGpus::Graph instances[kRanks];
    const std::size_t before = gpus.allocated();
    std::size_t held = 0;  // by four launches of each rank
    bool opens = false;
    for (int step = 0; step < kSteps; ++step) {
      const auto i = static_cast<std::size_t>(step % 3);
      // Four replays stand one behind the other.
      if (step % 4 == 0) __atomic_store_n(&opens, false, __ATOMIC_RELEASE);
      for (int rank = 0; step % 4 == 0 && rank < kRanks; ++rank) gpus.hold(ranks.stream(rank), &opens);
      for (int rank = 0; rank < kRanks; ++rank) {
        gpus.setDevice(rank);
        gpus.beginCapture(ranks.stream(rank));
        ASSERT_EQ(ncclAllReduce(in[rank][i], out[rank][i], kCount, ncclFloat, ncclSum, ranks.comm(rank),
                                ranks.stream(rank)),
                  ncclSuccess);
        instances[rank] = gpus.endCapture(ranks.stream(rank));
        gpus.replay(instances[rank], ranks.stream(rank));
      }
      if (step % 4 != 3) continue;
      __atomic_store_n(&opens, true, __ATOMIC_RELEASE);
      ranks.await();
      if (held == 0) held = gpus.allocated() - before;
    }
    for (const auto& buffers : out)
      for (std::size_t i = 0; i < 3; ++i) expectAll(buffers[i], kCount, kRanks * static_cast<float>(i + 1));
    EXPECT_LT(gpus.allocated() - before, 3 * held) << "launches whose graphs are gone are taken again";
  }
  EXPECT_EQ(gpus.allocated(), 0u);
}

// A driver answers no question about an event that was recorded in a capture. Launches that graphs had are used for other calls, which may wait
// so long that the GPU's health is asked for.
TEST(GpuGraphFailures, AreNotSeenInCallsThatTakeALaunchOfAGraph) {
  const Environment environment(variablesOf("Ring", "Simple"));
  constexpr int kRanks = 2;
  MappedGpus gpus;
  Ranks ranks(&gpus, kRanks);
  std::vector<float*> data;
  for (int rank = 0; rank < kRanks; ++rank) {
    data.push_back(reinterpret_cast<float*>(ranks.memory(rank, 64)));
    std::fill_n(data.back(), 4, 1.0f);
  }
  const auto allReduce = [&](int rank) {
    float* const values = data[static_cast<std::size_t>(rank)];
    ASSERT_EQ(ncclAllReduce(values, values, 4, ncclFloat, ncclSum, ranks.comm(rank), ranks.stream(rank)),
              ncclSuccess);
  };
  for (int graph = 0; graph < 2; ++graph)
    for (int rank = 0; rank < kRanks; ++rank) {
      gpus.setDevice(rank);
      gpus.beginCapture(ranks.stream(rank));
      allReduce(rank);
      gpus.endCapture(ranks.stream(rank));
    }
  allReduce(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  allReduce(1);
  ranks.await();
  for (int rank = 0; rank < kRanks; ++rank) {
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(ranks.comm(rank), &state), ncclSuccess);
    EXPECT_EQ(state, ncclSuccess) << ncclGetLastError(ranks.comm(rank));
    expectAll(data[static_cast<std::size_t>(rank)], 4, 2.0f);
  }
}

// A kernel cannot be captured: when the graph is gone, the launch is taken again.
TEST(GpuGraphFailures, KeepNoLaunch) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  auto* const data = reinterpret_cast<float*>(ranks.memory(0, 64));
  const auto capture = [&] {
    gpus.beginCapture(ranks.stream(0));
    const ncclResult_t result =
        ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0));
    gpus.endCapture(ranks.stream(0));
    return result;
  };
  gpus.failNextLaunch();
  EXPECT_EQ(capture(), ncclUnhandledCudaError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 0, GPU 0: launching a kernel failed"));
  const std::size_t held = gpus.allocated();
  EXPECT_EQ(capture(), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(gpus.allocated(), held);
}

// A rank does not replay its graph: the others' kernels end with the time-out.
TEST(GpuGraphFailures, AreTimeOutsThatNameTheRank) {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple");
  variables["XYLEM_OPERATION_TIMEOUT"] = "2";
  const Environment environment(variables);
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  auto* const data = reinterpret_cast<float*>(ranks.memory(0, 64));
  gpus.beginCapture(ranks.stream(0));
  ASSERT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0)), ncclSuccess);
  gpus.replay(gpus.endCapture(ranks.stream(0)), ranks.stream(0));
  gpus.await(ranks.stream(0));
  EXPECT_EQ(asyncErrorOf(ranks.comm(0)), ncclRemoteError);
  EXPECT_THAT(ncclGetLastError(ranks.comm(0)),
              AllOf(HasSubstr("timed out"), HasSubstr("rank 0 waits for rank 1")));
}

TEST(GpuGraphFailures, AreThoseOfTheGpu) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  std::byte* const data = ranks.memory(0, 64);
  gpus.beginCapture(ranks.stream(0));
  ASSERT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0)), ncclSuccess);
  const MappedGpus::Graph graph = gpus.endCapture(ranks.stream(0));
  gpus.fail();
  EXPECT_EQ(asyncErrorOf(ranks.comm(0)), ncclUnhandledCudaError);
  EXPECT_THAT(ncclGetLastError(ranks.comm(0)), HasSubstr("rank 0, GPU 0: a kernel failed"));
}

// Nothing has the graphs any more when their replays have found that the calls differ.
TEST(GpuGraphFailures, AreSeenAfterTheGraphIsGone) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  for (int rank = 0; rank < 2; ++rank) {
    std::byte* const data = ranks.memory(rank, 4096);
    const std::size_t count = rank == 0 ? 100 : 1000;
    gpus.beginCapture(ranks.stream(rank));
    ASSERT_EQ(ncclAllReduce(data, data, count, ncclFloat, ncclSum, ranks.comm(rank), ranks.stream(rank)),
              ncclSuccess);
    gpus.replay(gpus.endCapture(ranks.stream(rank)), ranks.stream(rank));
  }
  EXPECT_EQ(asyncErrorOf(ranks.comm(0)), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(ranks.comm(0)), HasSubstr("the ranks called different operations"));
  ranks.await();
}

// In the middle of a replay, of a collective or of messages, on one host or over a network.
TEST(GpuGraphFailures, EndReplaysWhenTheCommunicatorIsAborted) {
  for (const bool overNetwork : {false, true})
    for (const bool sends : {false, true}) {
      const Environment environment(variablesOf("Ring", "Simple", overNetwork));
      MappedGpus gpus;
      {
        Ranks ranks(&gpus, 2);
        constexpr std::size_t kBytes = std::size_t{32} << 20;  // more than queues and sockets hold
        std::vector<MappedGpus::Graph> graphs(2);
        std::vector<std::thread> threads;
        std::byte* const buffers[] = {ranks.memory(0, kBytes), ranks.memory(1, kBytes)};
        for (int rank = 0; rank < 2; ++rank)
          threads.emplace_back([&, rank, data = buffers[rank]] {
            gpus.setDevice(rank);
            const ncclComm_t comm = ranks.comm(rank);
            const cudaStream_t stream = ranks.stream(rank);
            gpus.beginCapture(stream);
            EXPECT_EQ(!sends      ? ncclAllReduce(data, data, kBytes, ncclInt8, ncclMax, comm, stream)
                      : rank == 0 ? ncclSend(data, kBytes, ncclInt8, 1, comm, stream)
                                  : ncclRecv(data, kBytes, ncclInt8, 0, comm, stream),
                      ncclSuccess)
                << ncclGetLastError(nullptr);
            graphs[static_cast<std::size_t>(rank)] = gpus.endCapture(stream);
          });
        for (std::thread& thread : threads) thread.join();
        gpus.replay(graphs[0], ranks.stream(0));
        EXPECT_TRUE(seesWait(0, comm::WaitKind::kReplay, 1));
        ranks.abort(0);
        ranks.abort(1);
        ranks.await();
      }
      EXPECT_EQ(gpus.allocated(), 0u);
    }
}

// `xylem status` sees for whom a replay waits, until it goes on.
TEST(GpuReplays, SayForWhomTheyWaitInTheFlightRecorder) {
  for (const bool overNetwork : {false, true}) {
    const Environment environment(variablesOf("Ring", "Simple", overNetwork));
    MappedGpus gpus;
    Ranks ranks(&gpus, 2);
    std::vector<MappedGpus::Graph> graphs;
    for (int rank = 0; rank < 2; ++rank) {
      std::byte* const data = ranks.memory(rank, 64);
      gpus.beginCapture(ranks.stream(rank));
      ASSERT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(rank), ranks.stream(rank)),
                ncclSuccess);
      graphs.push_back(gpus.endCapture(ranks.stream(rank)));
    }
    gpus.replay(graphs[0], ranks.stream(0));
    EXPECT_TRUE(seesWait(0, comm::WaitKind::kReplay, 1));
    gpus.replay(graphs[1], ranks.stream(1));
    ranks.await();
    EXPECT_TRUE(seesWait(0, comm::WaitKind::kNone));
  }
}

// A program may have thousands of launches in graphs: the driver is asked once for all of them.
TEST(GpuReplays, AreWatchedWithFewQuestionsToTheDriver) {
  constexpr int kLaunches = 200, kPasses = 3;
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  std::byte* const data = ranks.memory(0, 64);
  gpus.beginCapture(ranks.stream(0));
  for (int i = 0; i < kLaunches; ++i)
    ASSERT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0)), ncclSuccess);
  const MappedGpus::Graph graph = gpus.endCapture(ranks.stream(0));
  const int before = gpus.questions();
  for (int i = 0; i < 10'000 && gpus.questions() < before + kPasses; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(gpus.questions(), before + kPasses) << "a GPU that has failed is found out";
  EXPECT_LT(gpus.questions(), before + kLaunches);
}

}  // namespace gpu_graphs
}  // namespace xylem::testing
