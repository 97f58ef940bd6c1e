// A rank that is stopped (SIGSTOP): its connections stay as they are, and only its silence tells, or the
// kernel of its host.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "comm/rank_threads.h"
#include "faults/fault_job.h"

namespace xylem {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr int kRanks = 3;
constexpr int kVictim = 1;

void join(RankPool& pool, FaultJob& job) {
  job.startJoining(newIdHex());
  for (int rank = 0; rank < kRanks; ++rank) {
    const Reply reply = pool.reply(rank);
    ASSERT_EQ(reply.word, "joined") << reply.text;
  }
}

void stopWhileWorking(RankPool& pool, FaultJob& job, const char* collective) {
  pool.ask(kVictim, fmt::format("strikeafter 3000 {}", SIGSTOP));
  for (int rank = 0; rank < kRanks; ++rank) pool.tell(rank, fmt::format("work {} 20000", collective));
  const auto when = pool.awaitStrike(kVictim);
  ASSERT_TRUE(when);
  job.expectNamed(kVictim, *when);
}

class StoppedWhileWorking : public ::testing::TestWithParam<const char*> {};

// Nobody has set a time-out: the state of the process says it.
TEST_P(StoppedWhileWorking, IsNamedByAllAndTheOthersGoOn) {
  const Variables here{};
  RankPool pool(kRanks);
  FaultJob job(pool);
  join(pool, job);
  stopWhileWorking(pool, job, GetParam());
  EXPECT_THAT(job.lastText(), HasSubstr("is stopped (SIGSTOP"));
  job.goOnWithout(kVictim);
  fmt::print("{}\n", summary(job.reactions()));
}

INSTANTIATE_TEST_SUITE_P(In, StoppedWhileWorking, ::testing::Values("AllReduce", "AllToAll"),
                         [](const auto& sample) { return std::string(sample.param); });

TEST(Stopped, TheTimeOutOfOperationsNamesIt) {
  const Variables here{};
  RankPool pool(kRanks, {{"XYLEM_STOPPED_TIMEOUT", "0"}, {"XYLEM_OPERATION_TIMEOUT", "1"}});
  FaultJob job(pool);
  join(pool, job);
  stopWhileWorking(pool, job, "AllReduce");
  EXPECT_THAT(job.lastText(), HasSubstr("timed out after 1 s in AllReduce"));
  EXPECT_THAT(job.lastText(), HasSubstr("rank 1 is stopped (SIGSTOP)"));
  job.goOnWithout(kVictim);
}

// A short stop is none.
TEST(Stopped, WhoGoesOnIsForgiven) {
  const Variables here{};
  RankPool pool(kRanks, {{"XYLEM_STOPPED_TIMEOUT", "60"}});
  FaultJob job(pool);
  join(pool, job);
  pool.ask(kVictim, fmt::format("strike 0 {}", SIGSTOP));
  pool.signal(kVictim, SIGSTOP);
  ASSERT_TRUE(pool.awaitStrike(kVictim));
  for (int rank = 0; rank < kRanks; ++rank) pool.tell(rank, "sum");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the others have looked by now
  pool.signal(kVictim, SIGCONT);
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(pool.reply(rank).word, "summed");
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(pool.ask(rank, "destroy").word, "destroyed");
}

class StoppedWhileJoining : public ::testing::TestWithParam<int> {};

// Early on the ranks do not know each other's processes yet: then it is the time-out of joining that ends it.
TEST_P(StoppedWhileJoining, IsNamedByAllAndTheOthersGoOn) {
  const Variables here{{"XYLEM_TIMEOUT", kSanitized ? "10" : "3"}};
  RankPool pool(kRanks);
  FaultJob job(pool);
  pool.ask(kVictim, fmt::format("strike {} {}", GetParam(), SIGSTOP));
  job.startJoining(newIdHex());
  const auto when = pool.awaitStrike(kVictim);
  ASSERT_TRUE(when);
  job.expectNamed(kVictim, *when);
  job.goOnWithout(kVictim);
  fmt::print("{}: {}\n", summary(job.reactions()), job.lastText());
}

INSTANTIATE_TEST_SUITE_P(AtPoint, StoppedWhileJoining, ::testing::Values(12, 22, 32));

}  // namespace
}  // namespace xylem
