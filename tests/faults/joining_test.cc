// A rank that is killed at any step of joining or splitting: the others name it, and go on without it.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "faults/fault_job.h"
#include "runtime/comm/rank_threads.h"
#include "support/effort.h"
#include "support/free_address.h"

namespace xylem {
namespace {

using namespace testing;

constexpr int kJoiningRanks = 3;
// If a rank dies before it has said who it is, the others can only miss it.
constexpr int kJoinTimeout = kSanitized ? 10 : 2;

// The points of joining that are tried: at night all of them.
int strideOf(int usual) { return byEffort({.quick = 3 * usual, .normal = usual, .night = 1}); }

enum class Meeting { kElsewhere, kAtRankZero };

struct Sweep {
  const char* name;
  int victim;
  Meeting meeting;
  bool splits;     // the fault is in a split, not in the first communicator
  int firstPoint;  // before, there is nothing to be seen of the victim but that it does not come
  const char* p2pDisable;
  const char* shmDisable;
};

constexpr Sweep kSweeps[] = {{"LastRank", 2, Meeting::kElsewhere, false, 1, "0", "0"},
                             {"FirstRankOnAnIdOfItsOwn", 0, Meeting::kAtRankZero, false, 16, "0", "0"},
                             {"OverTheNetwork", 1, Meeting::kElsewhere, false, 5, "1", "1"},
                             {"WhileSplitting", 1, Meeting::kElsewhere, true, 1, "0", "0"}};

void expectJoined(RankPool& pool) {
  for (int rank = 0; rank < kJoiningRanks; ++rank) {
    const Reply reply = pool.reply(rank);
    EXPECT_EQ(reply.word, "joined") << "rank " << rank << ": " << reply.text;
  }
}

class KilledWhileJoining : public ::testing::TestWithParam<Sweep> {
 protected:
  // Returns false if the victim has fewer points.
  bool strike(FaultJob& job, RankPool& pool, int point) {
    const Sweep& sweep = GetParam();
    std::string id;
    if (sweep.meeting == Meeting::kElsewhere)
      id = newIdHex();
    else
      for (const std::string address = freeAddress("127.0.0.1").text(); int rank : {0, 1, 2})
        EXPECT_EQ(pool.ask(rank, "set NCCL_COMM_ID " + address).word, "set");
    const std::string trap = fmt::format("strike {} {}", point, SIGKILL);
    if (!sweep.splits) pool.ask(sweep.victim, trap);
    job.startJoining(id);
    if (sweep.splits) {
      expectJoined(pool);
      pool.ask(sweep.victim, trap);
      for (int rank = 0; rank < kJoiningRanks; ++rank) pool.tell(rank, "split");
    }
    const auto when = pool.awaitStrike(sweep.victim);
    if (when) {
      job.expectNamed(sweep.victim, *when);
    } else {
      expectJoined(pool);
      pool.ask(sweep.victim, fmt::format("strike 0 {}", SIGKILL));
    }
    for (int rank = 0; rank < kJoiningRanks; ++rank)
      if (!when || rank != sweep.victim) pool.ask(rank, "unset NCCL_COMM_ID");
    return when.has_value();
  }
};

TEST_P(KilledWhileJoining, IsNamedByAllAndTheOthersGoOn) {
  const Sweep& sweep = GetParam();
  const Variables here{{"XYLEM_TIMEOUT", std::to_string(kJoinTimeout)}};
  RankPool pool(kJoiningRanks,
                {{"NCCL_P2P_DISABLE", sweep.p2pDisable}, {"NCCL_SHM_DISABLE", sweep.shmDisable}});
  FaultJob job(pool);
  int points = 0;
  const int stride = strideOf(kSanitized ? 11 : 9);
  for (int point = sweep.firstPoint; strike(job, pool, point); point += stride, ++points) {
    SCOPED_TRACE(fmt::format("at point {}: {}", point, job.lastText()));
    job.goOnWithout(sweep.victim);
    if (HasFailure()) return;
  }
  EXPECT_GT(points, 3);
  fmt::print("{}: killed at {} points: {}; aborts: {}\n", sweep.name, points, summary(job.reactions()),
             summary(job.aborts()));
}

INSTANTIATE_TEST_SUITE_P(Rank, KilledWhileJoining, ::testing::ValuesIn(kSweeps),
                         [](const auto& sample) { return std::string(sample.param.name); });

}  // namespace
}  // namespace xylem
