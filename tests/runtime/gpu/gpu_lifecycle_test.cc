// From making to ending communicators of GPUs, which are threads of the CPU: splitting, shrinking and growing them, without blocking,
// revoking, registered memory, and what GPUs have not.

#include <gmock/gmock.h>

#include <barrier>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "runtime/comm/host_threads.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"

namespace xylem::testing {
namespace gpu_lifecycle {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Ranks of one host as threads, each with a GPU.
void runOnGpus(MappedGpus& gpus, int ranks, const std::function<void(int rank, ncclComm_t& comm)>& work) {
  expectAllJoined(runOnHosts(1, ranks, work, [&](int rank) { gpus.setDevice(rank); }));
}

// The sum of all ranks' `value`, by an AllReduce that the calling thread makes with its GPU.
float sumOf(MappedGpus& gpus, ncclComm_t comm, float value) {
  auto* const data = static_cast<float*>(gpus.allocate(64));
  const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
  *data = value;
  EXPECT_EQ(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, comm, stream), ncclSuccess)
      << ncclGetLastError(comm);
  gpus.await(stream);
  return *data;
}

ncclResult_t stateOf(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (int i = 0; i < 20000 && state == ncclInProgress; ++i) {
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    if (state == ncclInProgress) std::this_thread::sleep_for(1ms);
  }
  return state;
}

int ranksOf(ncclComm_t comm) {
  int ranks = 0;
  EXPECT_EQ(ncclCommCount(comm, &ranks), ncclSuccess);
  return ranks;
}

TEST(GpuLifecycle, SplitsShrinksAndGrows) {
  const Environment environment(variablesOf("Ring,Tree", "Simple,LL"));
  constexpr int kRanks = 4;
  MappedGpus gpus;
  std::promise<ncclUniqueId> promised;
  const std::shared_future<ncclUniqueId> toGrow = promised.get_future().share();
  runOnGpus(gpus, kRanks, [&](int rank, ncclComm_t comm) {
    EXPECT_EQ(sumOf(gpus, comm, 1), kRanks);
    ncclComm_t half = nullptr;
    EXPECT_EQ(ncclCommSplit(comm, rank % 2, -rank, &half, nullptr), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(sumOf(gpus, half, static_cast<float>(rank)), rank % 2 == 0 ? 0 + 2 : 1 + 3);
    int number = -1;
    EXPECT_EQ(ncclCommUserRank(half, &number), ncclSuccess);
    EXPECT_EQ(number, rank < 2 ? 1 : 0) << "the keys are in reverse order";
    EXPECT_EQ(ncclCommDestroy(half), ncclSuccess);

    ncclComm_t some = nullptr;
    EXPECT_EQ(ncclCommSplit(comm, rank == 3 ? NCCL_SPLIT_NOCOLOR : 7, rank, &some, nullptr), ncclSuccess);
    EXPECT_EQ(some == nullptr, rank == 3);
    if (some != nullptr) {
      EXPECT_EQ(sumOf(gpus, some, 2), 2 * 3);
      EXPECT_EQ(ncclCommDestroy(some), ncclSuccess);
    }

    ncclComm_t fewer = nullptr, more = nullptr;
    int excluded[] = {3};
    if (rank != 3) {
      EXPECT_EQ(ncclCommShrink(comm, excluded, 1, &fewer, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess)
          << ncclGetLastError(comm);
      EXPECT_EQ(sumOf(gpus, fewer, 1), 3);
    }
    // Rank 3 comes back as a new one.
    if (rank == 0) {
      ncclUniqueId id;
      EXPECT_EQ(ncclCommGetUniqueId(fewer, &id), ncclSuccess);
      promised.set_value(id);
    }
    const ncclUniqueId id = toGrow.get();
    EXPECT_EQ(ncclCommGrow(fewer, kRanks, rank == 0 || rank == 3 ? &id : nullptr, rank == 3 ? 3 : -1, &more,
                           nullptr),
              ncclSuccess)
        << ncclGetLastError(nullptr);
    EXPECT_EQ(ranksOf(more), kRanks);
    EXPECT_EQ(sumOf(gpus, more, static_cast<float>(rank)), 0 + 1 + 2 + 3);
    EXPECT_EQ(ncclCommFinalize(more), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(more), ncclSuccess);
    if (fewer != nullptr) {
      EXPECT_EQ(ncclCommDestroy(fewer), ncclSuccess);
    }
  });
  EXPECT_EQ(gpus.allocated(), 0u);
}

// One thread has all ranks: none of its calls waits for another one of them.
TEST(GpuLifecycle, DoesNotBlockWhereThatIsAsked) {
  const Environment environment(variablesOf("Ring", "Simple"));
  constexpr int kRanks = 3;
  MappedGpus gpus;
  {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    std::vector<ncclComm_t> comms(kRanks);
    std::vector<std::int32_t*> data;
    std::vector<cudaStream_t> streams;
    for (int rank = 0; rank < kRanks; ++rank) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      gpus.setDevice(rank);
      EXPECT_EQ(ncclCommInitRankConfig(&comms[static_cast<std::size_t>(rank)], kRanks, id, rank, &config),
                ncclInProgress);
      data.push_back(static_cast<std::int32_t*>(gpus.allocate(64)));
      data.back()[0] = rank + 1;
      streams.push_back(static_cast<cudaStream_t>(gpus.makeStream()));
    }
    for (const ncclComm_t comm : comms) ASSERT_EQ(stateOf(comm), ncclSuccess) << ncclGetLastError(comm);
    const auto expectStarted = [](ncclResult_t result) {
      EXPECT_THAT(result, AnyOf(ncclSuccess, ncclInProgress)) << ncclGetLastError(nullptr);
    };
    const auto awaitAll = [&] {
      for (const ncclComm_t comm : comms) EXPECT_EQ(stateOf(comm), ncclSuccess) << ncclGetLastError(comm);
      for (const cudaStream_t stream : streams) gpus.await(stream);
    };
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      expectStarted(ncclAllReduce(data[rank], data[rank], 1, ncclInt32, ncclSum, comms[rank], streams[rank]));
    awaitAll();
    for (const std::int32_t* const values : data) EXPECT_EQ(values[0], 1 + 2 + 3);
    // Ranks connect for sends and receives: two that are alone,
    data[0][0] = 7;
    EXPECT_EQ(ncclSend(data[0], 1, ncclInt32, 1, comms[0], streams[0]), ncclInProgress);
    EXPECT_EQ(ncclSend(data[0], 1, ncclInt32, 1, comms[0], streams[0]), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("an earlier call on it is still under way"));
    expectStarted(ncclRecv(data[1] + 1, 1, ncclInt32, 0, comms[1], streams[1]));
    awaitAll();
    EXPECT_EQ(data[1][1], 7);
    // and a ring of groups.
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      data[rank][0] = 10 * static_cast<std::int32_t>(rank);
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      expectStarted(ncclSend(data[rank], 1, ncclInt32, (static_cast<int>(rank) + 1) % kRanks, comms[rank],
                             streams[rank]));
      expectStarted(ncclRecv(data[rank] + 1, 1, ncclInt32, (static_cast<int>(rank) + kRanks - 1) % kRanks,
                             comms[rank], streams[rank]));
      expectStarted(ncclGroupEnd());
    }
    awaitAll();
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(data[rank][1], 10 * static_cast<std::int32_t>((rank + kRanks - 1) % kRanks));
    for (const ncclComm_t comm : comms) expectStarted(ncclCommFinalize(comm));
    for (const ncclComm_t comm : comms) {
      EXPECT_EQ(stateOf(comm), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    }
  }
  EXPECT_EQ(gpus.allocated(), 0u);
}

// A captured launch connects in the call: the graph may be complete after it.
TEST(GpuLifecycle, ConnectsRanksOfAThreadThatDoNotBlockForAGraph) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclComm_t comms[2] = {};
    std::int32_t* data[2] = {};
    cudaStream_t streams[2] = {};
    for (int rank = 0; rank < 2; ++rank) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      gpus.setDevice(rank);
      EXPECT_EQ(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config), ncclInProgress);
      data[rank] = static_cast<std::int32_t*>(gpus.allocate(64));
      data[rank][0] = 5 + rank;
      streams[rank] = static_cast<cudaStream_t>(gpus.makeStream());
    }
    for (const ncclComm_t comm : comms) ASSERT_EQ(stateOf(comm), ncclSuccess);
    const auto begin = std::chrono::steady_clock::now();
    // Only one of the two is captured.
    gpus.beginCapture(streams[0]);
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(data[0], 1, ncclInt32, 1, comms[0], streams[0]), ncclSuccess);
    EXPECT_EQ(ncclRecv(data[1], 1, ncclInt32, 0, comms[1], streams[1]), ncclSuccess);
    EXPECT_THAT(ncclGroupEnd(), AnyOf(ncclSuccess, ncclInProgress)) << ncclGetLastError(nullptr);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s) << "half of what it may wait";
    const MappedGpus::Graph graph = gpus.endCapture(streams[0]);
    for (const ncclComm_t comm : comms) EXPECT_EQ(stateOf(comm), ncclSuccess);
    gpus.replay(graph, streams[0]);
    for (const cudaStream_t stream : streams) gpus.await(stream);
    EXPECT_EQ(data[1][0], 5);
    for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  }
  EXPECT_EQ(gpus.allocated(), 0u);
}

TEST(GpuLifecycle, EndsWhileItConnectsInTheBackground) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  std::barrier<> together(2);
  runOnGpus(gpus, 2, [&](int rank, ncclComm_t comm) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t alike = nullptr;
    EXPECT_EQ(ncclCommSplit(comm, 0, rank, &alike, &config), ncclInProgress);
    EXPECT_EQ(stateOf(alike), ncclSuccess);
    if (rank == 0) {
      void* const data = gpus.allocate(64);
      EXPECT_EQ(ncclSend(data, 1, ncclInt32, 1, alike, static_cast<cudaStream_t>(gpus.makeStream())),
                ncclInProgress);
    }
    together.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(ncclCommAbort(alike), ncclSuccess);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s) << "half of what it may wait";
  });
  EXPECT_EQ(gpus.allocated(), 0u);
}

// Rank 2 does not come: the kernels of the others wait for it until their communicator is revoked. They go on without it.
TEST(GpuLifecycle, GoesOnWithoutARankAfterItIsRevoked) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  std::barrier<> first(2), together(3);
  runOnGpus(gpus, 3, [&](int rank, ncclComm_t& comm) {
    if (rank < 2) {
      auto* const data = static_cast<float*>(gpus.allocate(64));
      const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
      EXPECT_EQ(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, comm, stream), ncclSuccess);
      if (rank == 0) {
        EXPECT_TRUE(seesWait(0, comm::WaitKind::kData, 2)) << "in the flight recorder";
      }
      first.arrive_and_wait();
      EXPECT_EQ(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclSuccess) << ncclGetLastError(comm);
      gpus.await(stream);
      EXPECT_EQ(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, comm, stream), ncclInvalidUsage);
      ncclComm_t fewer = nullptr;
      int excluded[] = {2};
      EXPECT_EQ(ncclCommShrink(comm, excluded, 1, &fewer, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess)
          << ncclGetLastError(comm);
      EXPECT_EQ(sumOf(gpus, fewer, 5), 10);
      EXPECT_EQ(ncclCommDestroy(fewer), ncclSuccess);
    }
    together.arrive_and_wait();
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    comm = nullptr;
  });
  EXPECT_EQ(gpus.allocated(), 0u);
}

// Rank 1 never calls. The kernel of one communicator stands behind that of the other, in a stream or because freeing memory waits for both.
TEST(GpuLifecycle, AbortsOfAGroupEndAllKernelsBeforeAnyCommunicatorIsFreed) {
  for (const bool inOneStream : {false, true})
    for (const bool inGraphs : {false, true}) {
      const Environment environment(variablesOf("Ring", "Simple"));
      MappedGpus::Options options;
      options.releasesWait = true;
      MappedGpus gpus(options);
      {
        Ranks first(&gpus, 2), second(&gpus, 2);
        std::vector<MappedGpus::Graph> graphs;
        const auto allReduce = [&](Ranks& ranks, int rank, cudaStream_t stream) {
          std::byte* const data = ranks.memory(rank, 64);
          if (inGraphs) gpus.beginCapture(stream);
          EXPECT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(rank), stream), ncclSuccess)
              << ncclGetLastError(nullptr);
          if (inGraphs) gpus.replay(graphs.emplace_back(gpus.endCapture(stream)), stream);
        };
        allReduce(second, 0, second.stream(0));
        allReduce(first, 0, inOneStream ? second.stream(0) : first.stream(0));
        EXPECT_TRUE(seesWait(0, inGraphs ? comm::WaitKind::kReplay : comm::WaitKind::kData, 1));
        std::future<void> aborts = std::async(std::launch::async, [&] {
          EXPECT_EQ(ncclGroupStart(), ncclSuccess);
          const ncclComm_t former = first.comm(0);
          int ranks = 0;
          for (int rank = 0; rank < 2; ++rank) first.abort(rank);
          EXPECT_EQ(ncclCommCount(former, &ranks), ncclInvalidArgument);
          for (int rank = 0; rank < 2; ++rank) second.abort(rank);
          EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
        });
        if (aborts.wait_for(20s) == std::future_status::timeout) {
          ADD_FAILURE() << "an abort waits for the kernel of the other communicator";
          allReduce(second, 1, second.stream(1));  // so that the test ends
        }
        aborts.wait();
      }
      EXPECT_EQ(gpus.allocated(), 0u);
    }
}

TEST(GpuLifecycle, RegistersMemoryAndRefusesWhatGpusHaveNot) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  runOnGpus(gpus, 2, [&](int rank, ncclComm_t comm) {
    void* data = nullptr;
    ASSERT_EQ(ncclMemAlloc(&data, 4096), ncclSuccess);
    EXPECT_EQ(gpus.deviceOf(data), rank);
    void* handle = nullptr;
    ncclWindow_t window = nullptr;
    EXPECT_EQ(ncclCommRegister(comm, data, 4096, &handle), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(ncclCommWindowRegister(comm, data, 4096, &window, NCCL_WIN_COLL_SYMMETRIC), ncclSuccess)
        << ncclGetLastError(comm);
    EXPECT_EQ(sumOf(gpus, comm, 3), 6);
    const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
    EXPECT_EQ(ncclPutSignal(data, 1, ncclFloat, 1 - rank, window, 0, 0, 0, 0, comm, stream),
              ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("no one-sided operations, as GPUs have none here"));
    EXPECT_EQ(ncclDevCommCreate(comm, nullptr, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
    EXPECT_EQ(ncclCommDeregister(comm, handle), ncclSuccess);
    EXPECT_EQ(ncclMemFree(data), ncclSuccess);
    ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
    EXPECT_EQ(ncclCommQueryProperties(comm, &properties), ncclSuccess);
    EXPECT_EQ(properties.cudaDev, rank);
  });
  EXPECT_EQ(gpus.allocated(), 0u);
}

}  // namespace gpu_lifecycle
}  // namespace xylem::testing
