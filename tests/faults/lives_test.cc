// A thousand communicators leave nothing behind.

#include <gtest/gtest.h>
#include <malloc.h>

#include "faults/belongings.h"
#include "faults/fault_job.h"
#include "runtime/comm/rank_threads.h"
#include "support/free_address.h"

namespace xylem {
namespace {

using namespace testing;

constexpr int kLives = kSanitized ? 100 : 1000;

void live(int ranks) {
  expectAllJoined(runRanks(ranks, [ranks](int rank, ncclComm_t comm) {
    std::int32_t value = rank + 1;
    ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(value, ranks * (ranks + 1) / 2);
  }));
}

class Lives : public ::testing::TestWithParam<const char*> {};

TEST_P(Lives, OfOneThousandCommunicatorsNothingIsLeft) {
  // Otherwise the C library makes more of them if more threads happen to run at once.
  mallopt(M_ARENA_MAX, 1);
  const Variables here{{"NCCL_P2P_DISABLE", GetParam()}, {"NCCL_SHM_DISABLE", GetParam()}};
  for (int i = 0; i < 5; ++i) live(2);  // resources that stay for good: a worker per device, the logger
  Belongings before = Belongings::now();
  before = Belongings::settled(before);
  const bool network = *GetParam() == '1';
  for (int i = 0; i < (network ? kLives / 4 : kLives) && !HasFailure(); ++i) live(2);
  EXPECT_EQ(Belongings::settled(before).beyond(before), "");
}

INSTANTIATE_TEST_SUITE_P(WithoutLocalTransports, Lives, ::testing::Values("0", "1"));

// Counted from before the first communicator, with a root in one of the processes: only a worker of each
// device stays.
TEST(Lives, OfTheOnlyCommunicatorTheWorkersStay) {
  RankPool pool(2, {{"NCCL_SOCKET_IFNAME", "lo"},
                    {"NCCL_COMM_ID", freeAddress("127.0.0.1").text()},
                    {"XYLEM_HOST_DEVICES", "2"},
                    {"MALLOC_ARENA_MAX", "1"}});  // as above
  for (const int rank : {0, 1}) pool.ask(rank, "remember");
  for (const int rank : {0, 1}) pool.tell(rank, "join " + std::to_string(rank) + " 2");
  for (const int rank : {0, 1}) EXPECT_EQ(pool.reply(rank).word, "joined");
  for (const int rank : {0, 1}) pool.tell(rank, "sum");
  for (const int rank : {0, 1}) EXPECT_EQ(pool.reply(rank).word, "summed");
  for (const int rank : {0, 1}) EXPECT_EQ(pool.ask(rank, "destroy").word, "destroyed");
  for (const int rank : {0, 1}) EXPECT_EQ(pool.ask(rank, "compare 1").text, "");
}

}  // namespace
}  // namespace xylem
