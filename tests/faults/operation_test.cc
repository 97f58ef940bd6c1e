// A rank that is killed inside of every collective, under every algorithm and protocol and over every
// transport: the others name it, go on without it, and keep nothing of it.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "faults/fault_job.h"
#include "runtime/comm/rank_threads.h"

namespace xylem {
namespace {

using namespace testing;

constexpr int kOperationRanks = 4;
constexpr std::size_t kElements = kSanitized ? 1 << 16 : 1 << 18;  // of 4 bytes, from each rank
constexpr int kLatestStrike = 6000;                                // microseconds after the first call
constexpr std::uint64_t kSeed = 20250117;

struct Algorithm {
  const char* name;
  std::vector<const char*> protocols;
  std::vector<const char*> collectives;
};

const Algorithm kAlgorithms[] = {
    {"Ring", {"LL", "LL128", "Simple"}, {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce"}},
    {"Tree", {"LL", "LL128", "Simple"}, {"AllReduce"}},
    {"PAT", {"Simple"}, {"AllGather", "ReduceScatter", "AllToAll"}}};

struct OperationWay {
  const char* name;
  const char* p2pDisable;
  const char* shmDisable;
};
constexpr OperationWay kOperationWays[] = {{"P2P", "0", "0"}, {"SHM", "1", "0"}, {"NET", "1", "1"}};

class KilledInOperation : public ::testing::TestWithParam<OperationWay> {
 protected:
  KilledInOperation()
      : pool_(kOperationRanks, {{"NCCL_PAT_ENABLE", "1"},
                                {"NCCL_P2P_DISABLE", GetParam().p2pDisable},
                                {"NCCL_SHM_DISABLE", GetParam().shmDisable}}),
        job_(pool_) {}

  // Rank 0 stays, to count its resources.
  void strike(const char* collective, std::mt19937& random) {
    const int victim = std::uniform_int_distribution(1, kOperationRanks - 1)(random);
    const int microseconds = std::uniform_int_distribution(0, kLatestStrike)(random);
    SCOPED_TRACE(fmt::format("{}, rank {} after {} us", collective, victim, microseconds));
    job_.startJoining(newIdHex());
    for (int rank = 0; rank < kOperationRanks; ++rank) {
      const Reply reply = pool_.reply(rank);
      ASSERT_EQ(reply.word, "joined") << reply.text;
    }
    pool_.ask(victim, fmt::format("strikeafter {} {}", microseconds, SIGKILL));
    for (int rank = 0; rank < kOperationRanks; ++rank)
      pool_.tell(rank, fmt::format("work {} {}", collective, kElements));
    const auto when = pool_.awaitStrike(victim);
    ASSERT_TRUE(when);
    job_.expectNamed(victim, *when);
    job_.goOnWithout(victim);
  }

  const Variables here_{};
  RankPool pool_;
  FaultJob job_;
};

TEST_P(KilledInOperation, IsNamedByAllAndTheOthersGoOn) {
  std::mt19937 random(kSeed);
  bool remembered = false;
  for (const Algorithm& algorithm : kAlgorithms)
    for (const char* protocol : algorithm.protocols)
      for (const char* collective : algorithm.collectives) {
        SCOPED_TRACE(fmt::format("{} {}", algorithm.name, protocol));
        for (int rank = 0; rank < kOperationRanks; ++rank) {
          pool_.ask(rank, fmt::format("set NCCL_ALGO {}", algorithm.name));
          pool_.ask(rank, fmt::format("set NCCL_PROTO {}", protocol));
        }
        strike(collective, random);
        if (HasFailure()) return;
        if (!remembered) pool_.ask(0, "remember");
        remembered = true;
      }
  EXPECT_EQ(pool_.ask(0, "compare").text, "");
  fmt::print("{}: {}; aborts: {}\n", GetParam().name, summary(job_.reactions()), summary(job_.aborts()));
}

INSTANTIATE_TEST_SUITE_P(Over, KilledInOperation, ::testing::ValuesIn(kOperationWays),
                         [](const auto& sample) { return std::string(sample.param.name); });

}  // namespace
}  // namespace xylem
