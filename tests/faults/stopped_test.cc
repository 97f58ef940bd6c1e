// A rank that is stopped (SIGSTOP): its connections stay open, and only its silence, or the kernel of its
// host, shows it.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "faults/fault_job.h"
#include "runtime/comm/rank_threads.h"

namespace xylem {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr int kStoppedRanks = 3;
constexpr int kStoppedVictim = 1;

void join(RankPool& pool, FaultJob& job) {
  job.startJoining(newIdHex());
  for (int rank = 0; rank < kStoppedRanks; ++rank) {
    const Reply reply = pool.reply(rank);
    ASSERT_EQ(reply.word, "joined") << reply.text;
  }
}

void stopWhileWorking(RankPool& pool, FaultJob& job, const char* collective) {
  pool.ask(kStoppedVictim, fmt::format("strikeafter 3000 {}", SIGSTOP));
  for (int rank = 0; rank < kStoppedRanks; ++rank) pool.tell(rank, fmt::format("work {} 20000", collective));
  const auto when = pool.awaitStrike(kStoppedVictim);
  ASSERT_TRUE(when);
  job.expectNamed(kStoppedVictim, *when);
}

class StoppedWhileWorking : public ::testing::TestWithParam<const char*> {};

// No time-out is set: the state of the process shows it.
TEST_P(StoppedWhileWorking, IsNamedByAllAndTheOthersGoOn) {
  const Variables here{};
  RankPool pool(kStoppedRanks);
  FaultJob job(pool);
  join(pool, job);
  stopWhileWorking(pool, job, GetParam());
  EXPECT_THAT(job.lastText(), HasSubstr("is stopped (SIGSTOP"));
  job.goOnWithout(kStoppedVictim);
  fmt::print("{}\n", summary(job.reactions()));
}

INSTANTIATE_TEST_SUITE_P(In, StoppedWhileWorking, ::testing::Values("AllReduce", "AllToAll"),
                         [](const auto& sample) { return std::string(sample.param); });

TEST(Stopped, TheTimeOutOfOperationsNamesIt) {
  const Variables here{};
  RankPool pool(kStoppedRanks, {{"XYLEM_STOPPED_TIMEOUT", "0"}, {"XYLEM_OPERATION_TIMEOUT", "1"}});
  FaultJob job(pool);
  join(pool, job);
  stopWhileWorking(pool, job, "AllReduce");
  EXPECT_THAT(job.lastText(), HasSubstr("timed out after 1 s in AllReduce"));
  EXPECT_THAT(job.lastText(), HasSubstr("rank 1 is stopped (SIGSTOP)"));
  job.goOnWithout(kStoppedVictim);
}

// A short stop does not count.
TEST(Stopped, WhoGoesOnIsForgiven) {
  const Variables here{};
  RankPool pool(kStoppedRanks, {{"XYLEM_STOPPED_TIMEOUT", "60"}});
  FaultJob job(pool);
  join(pool, job);
  pool.ask(kStoppedVictim, fmt::format("strike 0 {}", SIGSTOP));
  pool.signal(kStoppedVictim, SIGSTOP);
  ASSERT_TRUE(pool.awaitStrike(kStoppedVictim));
  for (int rank = 0; rank < kStoppedRanks; ++rank) pool.tell(rank, "sum");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the others have looked by now
  pool.signal(kStoppedVictim, SIGCONT);
  for (int rank = 0; rank < kStoppedRanks; ++rank) EXPECT_EQ(pool.reply(rank).word, "summed");
  for (int rank = 0; rank < kStoppedRanks; ++rank) EXPECT_EQ(pool.ask(rank, "destroy").word, "destroyed");
}

class StoppedWhileJoining : public ::testing::TestWithParam<int> {};

// Early on the ranks do not know each other's processes yet: then joining ends with its time-out.
TEST_P(StoppedWhileJoining, IsNamedByAllAndTheOthersGoOn) {
  const Variables here{{"XYLEM_TIMEOUT", kSanitized ? "10" : "3"}};
  RankPool pool(kStoppedRanks);
  FaultJob job(pool);
  pool.ask(kStoppedVictim, fmt::format("strike {} {}", GetParam(), SIGSTOP));
  job.startJoining(newIdHex());
  const auto when = pool.awaitStrike(kStoppedVictim);
  ASSERT_TRUE(when);
  job.expectNamed(kStoppedVictim, *when);
  job.goOnWithout(kStoppedVictim);
  fmt::print("{}: {}\n", summary(job.reactions()), job.lastText());
}

INSTANTIATE_TEST_SUITE_P(AtPoint, StoppedWhileJoining, ::testing::Values(12, 22, 32));

}  // namespace
}  // namespace xylem
