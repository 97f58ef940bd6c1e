#include "runtime/device/helpers.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/device/core_pair.h"
#include "runtime/device/numa_cores.h"
#include "support/sanitizers.h"

namespace xylem::device {
namespace {

using ::testing::Each;

// Shares two parts. The caller's parts take until a helper has had one, which then calls `help`.
template <typename Help>
void shareWithOne(Helpers& helpers, Help help) {
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  helpers.share(2, [&](std::size_t) {
    if (std::this_thread::get_id() != self && !helped.exchange(true)) help();
    while (!helped) std::this_thread::yield();
  });
}

TEST(Helpers, DoEachPartOnce) {
  Helpers helpers(3);
  for (const std::size_t parts : {0, 1, 2, 7, 1000}) {
    // Without atomics: at the end the caller must have seen what helpers wrote.
    std::vector<int> times(parts);
    helpers.share(parts, [&](std::size_t part) { ++times[part]; });
    EXPECT_THAT(times, Each(1)) << parts;
  }
}

TEST(Helpers, AlsoAfterTheySlept) {
  Helpers helpers(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> times(50);
    helpers.share(times.size(), [&](std::size_t part) { ++times[part]; });
    EXPECT_THAT(times, Each(1));
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(Helpers, WorkOnOtherThreads) {
  Helpers helpers(1);
  bool helped = false;
  shareWithOne(helpers, [&] { helped = true; });
  EXPECT_TRUE(helped);
}

TEST(Helpers, ThrowWhatAPartThrewOnceAllAreDone) {
  Helpers helpers(2);
  std::atomic<int> done{0};
  const auto throwing = [&](std::size_t part) {
    ++done;
    if (part == 3) throw std::runtime_error("part 3");
  };
  EXPECT_THROW(helpers.share(40, throwing), std::runtime_error);
  EXPECT_EQ(done, 40);
  helpers.share(40, [&](std::size_t) { --done; });
  EXPECT_EQ(done, 0) << "they go on";
}

TEST(Helpers, ServeOneThreadAtATimeAndTheOthersDoTheirWorkThemselves) {
  Helpers helpers(2);
  std::vector<std::thread> threads;
  std::vector<int> sums(4);
  for (int& sum : sums)
    threads.emplace_back([&helpers, &sum] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int> parts(20);
        helpers.share(parts.size(), [&](std::size_t part) { parts[part] = 1; });
        for (const int part : parts) sum += part;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(sums, Each(4000));
}

TEST(Helpers, HaveTheCoresOfTheThreadThatMadeThemAlsoIfItIsBoundLater) {
  const CoreSet allowed = coreSet();
  if (allowed.count() < 2) GTEST_SKIP() << "there is one core";
  Helpers helpers(1);
  const int core = sched_getcpu();
  const OnCore here(core);
  CoreSet seen;
  shareWithOne(helpers, [&] { seen = coreSet(); });
  EXPECT_EQ(seen, coresNear(allowed, numaNodes(), coreSet(), 2));
  EXPECT_GE(seen.count(), 2U);
  EXPECT_EQ(coreSet().count(), 1U);
}

TEST(Helpers, BelongToADevice) {
  const auto first = Helpers::of(7, 2);
  EXPECT_EQ(Helpers::of(7, 5), first);
  EXPECT_EQ(first->threads(), 2);
  EXPECT_NE(Helpers::of(8, 2), first);
}

// A child has the object of its parent, but not its threads, and its own may have their handles.
TEST(Helpers, OfAForkedChildAreItsOwn) {
  if (testing::kThreadSanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow a fork of a process with threads";
  auto inherited = Helpers::of(9, 2);
  auto notStarted = Helpers::of(10, 2);
  inherited->share(8, [](std::size_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    std::vector<int> times(50);
    for (const auto& helpers : {inherited, notStarted})
      helpers->share(times.size(), [&](std::size_t part) { ++times[part]; });
    bool right = std::ranges::all_of(times, [](int done) { return done == 2; });
    auto own = Helpers::of(9, 1);
    right &= own != inherited && own == Helpers::of(9, 1) && own->threads() == 1;
    shareWithOne(*own, [] {});
    inherited.reset();
    notStarted.reset();
    own.reset();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Helpers::of(9, 5), inherited);
  shareWithOne(*inherited, [] {});
}

}  // namespace
}  // namespace xylem::device
