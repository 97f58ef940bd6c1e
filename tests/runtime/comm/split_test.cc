// ncclCommSplit: parts of a communicator, parts of parts, and ranks without one.

#include <gmock/gmock.h>

#include "runtime/comm/rank_threads.h"

namespace xylem {
namespace {

using namespace testing;

#define CHECK_NCCL(call) ASSERT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)

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
    // Both go on side by side.
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
}  // namespace xylem
