// A rank that is killed or stopped inside of the direct exchange: before it posts, before others have come,
// in the middle of the copies, when it is done and others are not, and between two operations. With memory
// that the others map, and with memory that is staged through the mailboxes.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "faults/fault_job.h"
#include "runtime/comm/rank_threads.h"

namespace xylem {
namespace {

using namespace testing;

constexpr int kDirectRanks = 3;
constexpr int kVictim = 1;
// Several pieces for each rank.
constexpr std::size_t kDirectCount = std::size_t{1} << 20;

class KilledInExchange : public ::testing::TestWithParam<const char*> {
 protected:
  KilledInExchange() : pool_(kDirectRanks), job_(pool_) {}
  ~KilledInExchange() override {
    fmt::print("{}; aborts: {}\n", summary(job_.reactions()), summary(job_.aborts()));
  }

  void join() {
    job_.startJoining(newIdHex());
    for (int rank = 0; rank < kDirectRanks; ++rank) {
      const Reply reply = pool_.reply(rank);
      ASSERT_EQ(reply.word, "joined") << reply.text;
    }
  }
  void work(int rank) { pool_.tell(rank, fmt::format("work AllReduce {} {}", kDirectCount, GetParam())); }
  void arm(int rank, const char* place, int time, int signal) {
    EXPECT_EQ(pool_.ask(rank, fmt::format("strikein {} {} {}", place, time, signal)).word, "armed");
  }
  // All ranks work, and the victim is struck in the middle.
  void strike(const char* place, int time, int signal) {
    SCOPED_TRACE(fmt::format("{} for the {}th time, signal {}", place, time, signal));
    join();
    arm(kVictim, place, time, signal);
    for (int rank = 0; rank < kDirectRanks; ++rank) work(rank);
    conclude();
  }
  void conclude() {
    const auto when = pool_.awaitStrike(kVictim);
    ASSERT_TRUE(when);
    job_.expectNamed(kVictim, *when);
    job_.goOnWithout(kVictim);
  }

  const Variables here_{{"XYLEM_STOPPED_TIMEOUT", kSanitized ? "3" : "1"}};
  RankPool pool_;
  FaultJob job_;
};

// The time decides which operation it is, and which piece of it.
TEST_P(KilledInExchange, AtAnyPlaceItIsNamedAndTheOthersGoOn) {
  for (const char* place : {"post", "work", "end"})
    for (const int time : {1, 4}) {
      strike(place, time, SIGKILL);
      if (HasFatalFailure()) return;
    }
}

TEST_P(KilledInExchange, StoppedInOthersBuffersItIsNamedAndTheOthersGoOn) { strike("work", 2, SIGSTOP); }

// It has posted its buffers, and the others come only when it has gone.
TEST_P(KilledInExchange, WhileItWaitsForTheOthersToCome) {
  join();
  arm(kVictim, "wait", 1, SIGKILL);
  work(kVictim);
  const auto when = pool_.awaitStrike(kVictim);
  ASSERT_TRUE(when);
  for (const int rank : {0, 2}) work(rank);
  job_.expectNamed(kVictim, *when);
  job_.goOnWithout(kVictim);
}

// It has done its part. One of the others is still busy with its own, and is stopped meanwhile.
TEST_P(KilledInExchange, WhileItWaitsForTheOthersToLeave) {
  for (int rank = 0; rank < kDirectRanks; ++rank) pool_.ask(rank, "set XYLEM_STOPPED_TIMEOUT 60");
  join();
  arm(0, "work", 1, SIGSTOP);
  for (int rank = 0; rank < kDirectRanks; ++rank) work(rank);
  ASSERT_TRUE(pool_.awaitStrike(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // more than they usually need
  pool_.signal(kVictim, SIGKILL);
  const auto when = pool_.awaitStrike(kVictim);
  ASSERT_TRUE(when);
  pool_.signal(0, SIGCONT);
  job_.expectNamed(kVictim, *when);
  job_.goOnWithout(kVictim);
}

INSTANTIATE_TEST_SUITE_P(With, KilledInExchange, ::testing::Values("shareable", "malloc"),
                         [](const auto& sample) { return std::string(sample.param); });

}  // namespace
}  // namespace xylem
