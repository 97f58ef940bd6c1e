// From making a communicator to ending it: without blocking, finalizing, aborting from any thread, and splitting
// (ncclCommSplit) into parts, parts of parts, and ranks without a part.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>

#include "runtime/comm/rank_threads.h"

namespace xylem::comm {
namespace {

using namespace testing;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

#define CHECK_NCCL(call) ASSERT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)

ncclResult_t waitFor(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    std::this_thread::sleep_for(1ms);
  }
  return state;
}

TEST(Lifecycle, CommunicatorsThatDoNotBlock) {
  const Variables variables{};
  ncclUniqueId id;
  CHECK_NCCL(ncclGetUniqueId(&id));
  constexpr int kRanks = 3;
  ncclComm_t comms[kRanks] = {};
  // One thread can start all ranks: none of the calls waits for another rank.
  for (int rank = 0; rank < kRanks; ++rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    cudaSetDevice(rank);
    EXPECT_EQ(ncclCommInitRankConfig(&comms[rank], kRanks, id, rank, &config), ncclInProgress);
    ASSERT_NE(comms[rank], nullptr);
  }
  for (ncclComm_t comm : comms) EXPECT_EQ(waitFor(comm), ncclSuccess) << ncclGetLastError(comm);
  std::int32_t values[kRanks] = {1, 2, 3};
  for (int rank = 0; rank < kRanks; ++rank) {
    cudaSetDevice(rank);
    const ncclResult_t result =
        ncclAllReduce(&values[rank], &values[rank], 1, ncclInt32, ncclSum, comms[rank], nullptr);
    EXPECT_TRUE(result == ncclSuccess || result == ncclInProgress);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    cudaSetDevice(rank);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(values[rank], 6);
  }
  for (ncclComm_t comm : comms) {
    const ncclResult_t result = ncclCommFinalize(comm);
    EXPECT_TRUE(result == ncclSuccess || result == ncclInProgress);
  }
  for (ncclComm_t comm : comms) {
    EXPECT_EQ(waitFor(comm), ncclSuccess);
    CHECK_NCCL(ncclCommDestroy(comm));
  }
  cudaSetDevice(0);
}

TEST(Lifecycle, AfterFinalizeOnlyDestroyIsLeft) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int, ncclComm_t comm) {
    std::int32_t value = 1;
    CHECK_NCCL(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
    CHECK_NCCL(ncclCommFinalize(comm));
    EXPECT_EQ(value, 2);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("finalized"));
  }));
}

// Rank 1 never calls; rank 0 is waiting inside cudaStreamSynchronize when another thread aborts.
TEST(Lifecycle, AbortEndsAnOperationThatWaits) {
  const Variables variables{};
  ncclUniqueId id;
  CHECK_NCCL(ncclGetUniqueId(&id));
  ncclComm_t comms[2] = {};
  std::thread joiner([&] {
    cudaSetDevice(1);
    EXPECT_EQ(ncclCommInitRank(&comms[1], 2, id, 1), ncclSuccess);
  });
  cudaSetDevice(0);
  EXPECT_EQ(ncclCommInitRank(&comms[0], 2, id, 0), ncclSuccess);
  joiner.join();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<float> data(1 << 20, 1);
  CHECK_NCCL(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comms[0], stream));
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << "the rank has ended the operation itself";
    over = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(over);
  CHECK_NCCL(ncclCommAbort(comms[0]));
  waiter.join();
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  // The other rank learns of it when it waits for this one.
  cudaSetDevice(1);
  CHECK_NCCL(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comms[1], nullptr));
  EXPECT_NE(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_THAT(ncclGetLastError(comms[1]), HasSubstr("rank 0"));
  CHECK_NCCL(ncclCommAbort(comms[1]));
  cudaSetDevice(0);
}

// The aborted work stands in its stream behind work that waits for the peer, which waits for the aborted
// work.
TEST(Lifecycle, AbortTellsThePeersBeforeOtherWorkIsOver) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t kept) {
    ncclComm_t aborted = nullptr;
    CHECK_NCCL(ncclCommSplit(kept, 0, rank, &aborted, nullptr));
    std::int32_t first = 1, second = 1;
    const auto sum = [](std::int32_t& value, ncclComm_t comm) {
      return ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr);
    };
    if (rank == 0) {
      CHECK_NCCL(sum(second, kept));
      CHECK_NCCL(sum(first, aborted));
    } else {
      CHECK_NCCL(sum(first, aborted));
      CHECK_NCCL(sum(second, kept));
      EXPECT_NE(cudaStreamSynchronize(nullptr), cudaSuccess);
    }
    CHECK_NCCL(ncclCommAbort(aborted));
    cudaStreamSynchronize(nullptr);
    EXPECT_EQ(second, 2);
  }));
}

// Rank 0 exchanges data with itself only, and so never waits.
TEST(Lifecycle, AbortIsHeardByARankThatNeverWaits) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t kept) {
    ncclComm_t comm = nullptr;
    CHECK_NCCL(ncclCommSplit(kept, 0, rank, &comm, nullptr));
    std::int32_t value = 1, got = 0;
    CHECK_NCCL(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    if (rank == 1) {
      CHECK_NCCL(ncclCommAbort(comm));
      return;
    }
    const auto copies = [&] {
      const bool issued = ncclGroupStart() == ncclSuccess &&
                          ncclSend(&value, 1, ncclInt32, 0, comm, nullptr) == ncclSuccess &&
                          ncclRecv(&got, 1, ncclInt32, 0, comm, nullptr) == ncclSuccess;
      return ncclGroupEnd() == ncclSuccess && issued && cudaStreamSynchronize(nullptr) == cudaSuccess;
    };
    const auto end = std::chrono::steady_clock::now() + 30s;
    bool works = true;
    while (works && std::chrono::steady_clock::now() < end) works = copies();
    EXPECT_FALSE(works);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("rank 1"));
    CHECK_NCCL(ncclCommAbort(comm));
  }));
}

TEST(Lifecycle, AbortEndsJoining) {
  const Variables variables{};
  ncclUniqueId id;
  CHECK_NCCL(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  std::this_thread::sleep_for(20ms);
  ncclResult_t state = ncclSuccess;
  CHECK_NCCL(ncclCommGetAsyncError(comm, &state));
  EXPECT_EQ(state, ncclInProgress);
  CHECK_NCCL(ncclCommAbort(comm));
}

TEST(Lifecycle, SeveralRootsMakeOneCommunicator) {
  const Variables variables{};
  constexpr int kRanks = 7, kRoots = 3;
  ncclUniqueId ids[kRoots];
  for (ncclUniqueId& id : ids) CHECK_NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      ncclComm_t comm = nullptr;
      CHECK_NCCL(ncclCommInitRankScalable(&comm, kRanks, rank, kRoots, ids, nullptr));
      std::int32_t value = rank;
      CHECK_NCCL(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
      EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
      EXPECT_EQ(value, 21);
      CHECK_NCCL(ncclCommDestroy(comm));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Lifecycle, RegisteredAndAllocatedMemory) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) {
    void* memory = nullptr;
    constexpr std::size_t kCount = 100'000;
    CHECK_NCCL(ncclMemAlloc(&memory, kCount * sizeof(float)));
    void* handle = nullptr;
    CHECK_NCCL(ncclCommRegister(comm, memory, kCount * sizeof(float), &handle));
    auto* data = static_cast<float*>(memory);
    std::fill(data, data + kCount, static_cast<float>(rank + 1));
    CHECK_NCCL(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, comm, nullptr));
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(data[kCount - 1], 3);
    CHECK_NCCL(ncclCommDeregister(comm, handle));
    CHECK_NCCL(ncclMemFree(memory));
  }));
}

std::int32_t sumOver(ncclComm_t comm, std::int32_t mine) {
  std::int32_t sum = -1;
  EXPECT_EQ(ncclAllReduce(&mine, &sum, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess)
      << ncclGetLastError(comm);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  return sum;
}

TEST(Split, EvenAndOddRanksInReverse) {
  const Variables variables{};
  expectAllJoined(runRanks(6, [](int rank, ncclComm_t comm) {
    ncclComm_t part = nullptr;
    CHECK_NCCL(ncclCommSplit(comm, rank % 2, -rank, &part, nullptr));
    int newRank = -1, count = -1;
    CHECK_NCCL(ncclCommUserRank(part, &newRank));
    CHECK_NCCL(ncclCommCount(part, &count));
    EXPECT_EQ(count, 3);
    EXPECT_EQ(newRank, 2 - rank / 2);
    EXPECT_EQ(sumOver(part, rank), rank % 2 == 0 ? 0 + 2 + 4 : 1 + 3 + 5);
    // Both communicators work side by side.
    EXPECT_EQ(sumOver(comm, 1), 6);
    CHECK_NCCL(ncclCommDestroy(part));
  }));
}

TEST(Split, SomeRanksGetNone) {
  const Variables variables{};
  expectAllJoined(runRanks(4, [](int rank, ncclComm_t comm) {
    ncclComm_t part = reinterpret_cast<ncclComm_t>(0x1);
    CHECK_NCCL(ncclCommSplit(comm, rank == 2 ? NCCL_SPLIT_NOCOLOR : 7, 0, &part, nullptr));
    if (rank == 2) {
      EXPECT_EQ(part, nullptr);
      return;
    }
    EXPECT_EQ(sumOver(part, rank), 0 + 1 + 3);
    CHECK_NCCL(ncclCommDestroy(part));
  }));
}

TEST(Split, PartsOutliveTheWholeAndCanBeSplitAgain) {
  const Variables variables{};
  ncclUniqueId id;
  CHECK_NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 8; ++rank)
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      ncclComm_t whole = nullptr, half = nullptr, quarter = nullptr;
      CHECK_NCCL(ncclCommInitRank(&whole, 8, id, rank));
      CHECK_NCCL(ncclCommSplit(whole, rank / 4, rank, &half, nullptr));
      CHECK_NCCL(ncclCommDestroy(whole));
      CHECK_NCCL(ncclCommSplit(half, (rank / 2) % 2, rank, &quarter, nullptr));
      EXPECT_EQ(sumOver(half, 1), 4);
      CHECK_NCCL(ncclCommDestroy(half));
      EXPECT_EQ(sumOver(quarter, rank), rank / 2 * 4 + 1);
      CHECK_NCCL(ncclCommDestroy(quarter));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace xylem::comm
