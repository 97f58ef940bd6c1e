// Ranks whose communicator lost one make a smaller one of it, without a new id.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "faults/fault_job.h"
#include "runtime/comm/rank_threads.h"

namespace xylem {
namespace {

using namespace testing;

constexpr int kShrunkRanks = 4;

struct Loss {
  const char* name;
  int signal;
  const char* withoutLocal;  // NCCL_P2P_DISABLE and NCCL_SHM_DISABLE
};
constexpr Loss kLosses[] = {{"KilledOnOneHost", SIGKILL, "0"},
                            {"KilledOverTheNetwork", SIGKILL, "1"},
                            {"StoppedOnOneHost", SIGSTOP, "0"}};

class ShrinkAbort : public ::testing::TestWithParam<Loss> {};

TEST_P(ShrinkAbort, LeavesOutTheRankThatWasLost) {
  const Variables here{};
  for (const int victim : {0, 2}) {
    SCOPED_TRACE(fmt::format("without rank {}", victim));
    RankPool pool(kShrunkRanks, {{"NCCL_P2P_DISABLE", GetParam().withoutLocal},
                                 {"NCCL_SHM_DISABLE", GetParam().withoutLocal}});
    FaultJob job(pool);
    job.startJoining(newIdHex());
    for (int rank = 0; rank < kShrunkRanks; ++rank) ASSERT_EQ(pool.reply(rank).word, "joined");
    pool.ask(victim, fmt::format("strikeafter 3000 {}", GetParam().signal));
    for (int rank = 0; rank < kShrunkRanks; ++rank) pool.tell(rank, "work AllReduce 100000");
    const auto when = pool.awaitStrike(victim);
    ASSERT_TRUE(when);
    job.expectNamed(victim, *when);
    std::vector<int> left;
    for (int rank = 0; rank < kShrunkRanks; ++rank)
      if (rank != victim) left.push_back(rank);
    for (const int rank : left) pool.tell(rank, fmt::format("shrink {}", victim));
    for (const int rank : left) {
      const Reply reply = pool.reply(rank);
      EXPECT_EQ(reply.word, "joined") << "rank " << rank << ": " << reply.text;
      pool.tell(rank, "sum");
    }
    for (const int rank : left) {
      const Reply reply = pool.reply(rank);
      EXPECT_EQ(reply.word, "summed") << "rank " << rank << ": " << reply.text;
      pool.tell(rank, "destroy");
    }
    for (const int rank : left) {
      const Reply reply = pool.reply(rank);
      EXPECT_EQ(reply.word, "destroyed") << "rank " << rank;
      EXPECT_EQ(reply.text, "") << "rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, ShrinkAbort, ::testing::ValuesIn(kLosses),
                         [](const auto& loss) { return std::string(loss.param.name); });

}  // namespace
}  // namespace xylem
