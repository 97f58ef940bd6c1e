// ncclPutSignal, ncclSignal and ncclWaitSignal: ranks of one thread, of two processes, in graphs, and what they refuse.

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/api/other_process.h"
#include "runtime/api/several.h"

namespace {

using ::testing::HasSubstr;

constexpr std::size_t kInts = 3'000'000;  // more than a put copies at once
constexpr std::size_t kWindowBytes = kInts * sizeof(int);

class OneSidedCalls : public Several {
 protected:
  void SetUp() override {
    Several::SetUp();
    memory_.resize(kRanks);
    windows_.resize(kRanks);
    for (void*& memory : memory_) ASSERT_EQ(ncclMemAlloc(&memory, 2 * kWindowBytes), ncclSuccess);
    together([&](int rank) {
      return ncclCommWindowRegister(comms_[rank], memory_[rank], 2 * kWindowBytes, &windows_[rank],
                                    NCCL_WIN_COLL_SYMMETRIC);
    });
  }
  void TearDown() override {
    for (int rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(ncclCommWindowDeregister(comms_[rank], windows_[rank]), ncclSuccess);
    Several::TearDown();
    for (void* const memory : memory_) EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  }
  int* ints(int rank) const { return static_cast<int*>(memory_[rank]); }
  ncclResult_t put(int rank, int peer, std::size_t from, std::size_t count, std::size_t to) {
    return ncclPutSignal(ints(rank) + from, count, ncclInt, peer, windows_[rank], to * sizeof(int), 0, 0, 0,
                         comms_[rank], streams_[rank]);
  }
  ncclResult_t await(int rank, int peer, int count) {
    ncclWaitSignalDesc_t wanted{count, peer, 0, 0};
    return ncclWaitSignal(1, &wanted, comms_[rank], streams_[rank]);
  }

  std::vector<void*> memory_;
  std::vector<ncclWindow_t> windows_;
};

TEST_F(OneSidedCalls, DataIsThereWhenItsSignalIs) {
  for (int rank = 0; rank < kRanks; ++rank)
    for (std::size_t i = 0; i < kInts; ++i) ints(rank)[i] = rank * 7 + static_cast<int>(i);
  together([&](int rank) { return put(rank, (rank + 1) % kRanks, 0, kInts, kInts); });
  together([&](int rank) { return await(rank, (rank + kRanks - 1) % kRanks, 1); });
  wait();
  for (int rank = 0; rank < kRanks; ++rank) {
    const int from = (rank + kRanks - 1) % kRanks;
    for (std::size_t i = 0; i < kInts; ++i)
      ASSERT_EQ(ints(rank)[kInts + i], from * 7 + static_cast<int>(i)) << i;
  }
}

// After the first call of all ranks, each call is one rank's alone.
TEST_F(OneSidedCalls, SignalsAreCountedBySource) {
  together([&](int rank) { return ncclSignal(rank, 0, 0, 0, comms_[rank], streams_[rank]); });
  together([&](int rank) { return await(rank, rank, 1); });
  wait();
  std::array<ncclWaitSignalDesc_t, 3> wanted{{{1, 0, 0, 0}, {2, 1, 0, 0}, {1, 0, 0, 0}}};
  ASSERT_EQ(ncclWaitSignal(3, wanted.data(), comms_[2], streams_[2]), ncclSuccess);
  ASSERT_EQ(put(0, 2, 0, 1, 0), ncclSuccess);
  ASSERT_EQ(ncclSignal(2, 0, 0, 0, comms_[1], streams_[1]), ncclSuccess);
  ASSERT_EQ(ncclSignal(2, 0, 0, 0, comms_[1], streams_[1]), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(streams_[1]), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(streams_[2]), cudaErrorNotReady) << "one of rank 0's two is missing";
  ASSERT_EQ(ncclSignal(2, 0, 0, 0, comms_[0], streams_[0]), ncclSuccess);
  wait();
  // A signal is taken by one wait, and kept until then.
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ncclSignal(1, 0, 0, 0, comms_[0], streams_[0]), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  ASSERT_EQ(await(1, 0, 2), ncclSuccess);
  ASSERT_EQ(await(1, 0, 1), ncclSuccess);
  wait();
}

TEST_F(OneSidedCalls, GraphsPutAgainAtEachLaunch) {
  together([&](int rank) { return ncclSignal(rank, 0, 0, 0, comms_[rank], streams_[rank]); });
  together([&](int rank) { return await(rank, rank, 1); });
  wait();
  std::vector<cudaGraphExec_t> graphs(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(streams_[rank], cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_EQ(put(rank, (rank + 1) % kRanks, 0, 1, 1), ncclSuccess) << ncclGetLastError(nullptr);
    ASSERT_EQ(await(rank, (rank + kRanks - 1) % kRanks, 1), ncclSuccess);
    ASSERT_EQ(cudaStreamEndCapture(streams_[rank], &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&graphs[rank], graph, 0ull), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  // Signals of direct calls do not end a captured wait.
  together([&](int rank) { return ncclSignal((rank + 1) % kRanks, 0, 0, 0, comms_[rank], streams_[rank]); });
  for (const int round : {1, 2, 3}) {
    for (int rank = 0; rank < kRanks; ++rank) {
      ints(rank)[0] = 10 * round + rank;
      ASSERT_EQ(cudaGraphLaunch(graphs[rank], streams_[rank]), cudaSuccess);
    }
    wait();
    for (int rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(ints(rank)[1], 10 * round + (rank + kRanks - 1) % kRanks) << "round " << round;
  }
  together([&](int rank) { return await(rank, (rank + kRanks - 1) % kRanks, 1); });
  wait();
  for (const cudaGraphExec_t graph : graphs) EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
}

TEST_F(OneSidedCalls, WhatTheyRefuse) {
  int outside = 0;
  const auto refused = [](ncclResult_t code, const char* why) {
    EXPECT_EQ(code, ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(why));
  };
  const ncclComm_t comm = comms_[0];
  const cudaStream_t stream = streams_[0];
  refused(ncclPutSignal(ints(0), 1, ncclInt, kRanks, windows_[0], 0, 0, 0, 0, comm, stream), "peer is 3");
  refused(ncclPutSignal(ints(0), 1, ncclInt, 1, windows_[0], 0, 1, 0, 0, comm, stream), "sigIdx is 1");
  refused(ncclPutSignal(ints(0), 1, ncclInt, 1, windows_[0], 0, 0, 1, 0, comm, stream), "ctx is 1");
  refused(ncclPutSignal(ints(0), 1, ncclInt, 1, windows_[0], 0, 0, 0, 1, comm, stream), "flags is 1");
  refused(ncclPutSignal(nullptr, 1, ncclInt, 1, windows_[0], 0, 0, 0, 0, comm, stream), "localbuff");
  refused(ncclPutSignal(ints(0), 1, ncclInt, 1, nullptr, 0, 0, 0, 0, comm, stream), "window");
  refused(ncclPutSignal(ints(0), 1, ncclInt, 1, windows_[1], 0, 0, 0, 0, comm, stream),
          "not a window of this communicator");
  refused(ncclPutSignal(&outside, 1, ncclInt, 1, windows_[0], 0, 0, 0, 0, comm, stream),
          "localbuff is not in a window");
  refused(ncclSignal(-1, 0, 0, 0, comm, stream), "peer is -1");
  ncclWaitSignalDesc_t wanted{1, 1, 0, 0};
  refused(ncclWaitSignal(0, &wanted, comm, stream), "nDesc is 0");
  refused(ncclWaitSignal(1, nullptr, comm, stream), "signalDescs");
  wanted.opCnt = 0;
  refused(ncclWaitSignal(1, &wanted, comm, stream), "opCnt of descriptor 0 is 0");
  wanted = {1, 7, 0, 0};
  refused(ncclWaitSignal(1, &wanted, comm, stream), "peer of a descriptor is 7");
  // Past the end of the peer's window: found when the put is done, as windows may differ in size.
  together([&](int rank) { return put(rank, (rank + 1) % kRanks, 0, 2, rank == 0 ? 2 * kInts - 1 : kInts); });
  EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("do not fit into the window of rank 1"));
  ncclResult_t found = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &found), ncclSuccess);
  EXPECT_EQ(found, ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(comm), HasSubstr("do not fit into the window of rank 1"));
  EXPECT_EQ(ncclCommGetAsyncError(comms_[1], &found), ncclSuccess);
  EXPECT_EQ(found, ncclSuccess);
  wait();
}

TEST(OneSided, ACommunicatorMayBeWithout) {
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.version = NCCL_VERSION(2, 30, 7);
  config.numRmaCtx = 0;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(ncclSignal(0, 0, 0, 0, comm, nullptr), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("no one-sided operations, as config.numRmaCtx is 0"));
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  EXPECT_EQ(ncclCommQueryProperties(comm, &properties), ncclSuccess);
  EXPECT_EQ(properties.hostRmaSupport, 0);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  unsetenv("NCCL_SOCKET_IFNAME");
}

TEST(OneSided, AnAbortEndsAWaitHereAndThere) {
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("XYLEM_HOST_DEVICES", "2", 1);
  std::array<ncclComm_t, 2> comms{};
  std::array<cudaStream_t, 2> streams{};
  ASSERT_EQ(ncclCommInitAll(comms.data(), 2, nullptr), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&streams[rank], cudaStreamNonBlocking), cudaSuccess);
    ncclWaitSignalDesc_t wanted{1, 1 - rank, 0, 0};
    ASSERT_EQ(ncclWaitSignal(1, &wanted, comms[rank], streams[rank]), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(cudaStreamQuery(streams[0]), cudaErrorNotReady);
  EXPECT_EQ(ncclCommAbort(comms[1]), ncclSuccess);
  for (const cudaStream_t stream : streams) {
    EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_EQ(ncclCommAbort(comms[0]), ncclSuccess);
  cudaSetDevice(0);
  unsetenv("XYLEM_HOST_DEVICES");
  unsetenv("NCCL_SOCKET_IFNAME");
}

constexpr const char* kIdVariable = "XYLEM_TEST_ONE_SIDED_ID";
constexpr int kRounds = 20;

// Both processes put numbers into each other's window, each after the other's last ones came.
void exchangeNumbers(int rank, const ncclUniqueId& id) {
  ncclComm_t comm = nullptr;
  void* memory = nullptr;
  ncclWindow_t window = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  ASSERT_EQ(ncclMemAlloc(&memory, 4096), ncclSuccess);
  ASSERT_EQ(ncclCommWindowRegister(comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC), ncclSuccess);
  auto* const numbers = static_cast<int*>(memory);
  for (int round = 1; round <= kRounds; ++round) {
    numbers[0] = round * 100 + rank;
    ncclWaitSignalDesc_t wanted{1, 1 - rank, 0, 0};
    ASSERT_EQ(ncclPutSignal(numbers, 1, ncclInt, 1 - rank, window, sizeof(int), 0, 0, 0, comm, nullptr),
              ncclSuccess)
        << ncclGetLastError(nullptr);
    ASSERT_EQ(ncclWaitSignal(1, &wanted, comm, nullptr), ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(numbers[1], round * 100 + 1 - rank);
    // The other one may write the next number.
    ASSERT_EQ(ncclSignal(1 - rank, 0, 0, 0, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclWaitSignal(1, &wanted, comm, nullptr), ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
}

TEST(OneSided, TwoProcesses) {
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  int status = -1;
  std::jthread peer([&] {
    status = xylem::testing::runOtherProcess("OneSided.DISABLED_ThePeer", kIdVariable,
                                             xylem::testing::hexOf(id.internal));
  });
  exchangeNumbers(0, id);
  peer.join();
  EXPECT_EQ(status, 0);
  unsetenv("NCCL_SOCKET_IFNAME");
}

// The other process, which only TwoProcesses starts.
TEST(OneSided, DISABLED_ThePeer) {
  const char* const words = std::getenv(kIdVariable);
  ASSERT_NE(words, nullptr);
  ncclUniqueId id;
  xylem::testing::bytesOf(words, id.internal);
  exchangeNumbers(1, id);
}

}  // namespace
