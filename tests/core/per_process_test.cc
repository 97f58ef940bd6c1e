#include "core/per_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "support/sanitizers.h"

namespace xylem {
namespace {

struct Counter {
  std::mutex mutex;
  int value = 0;
};

PerProcess<Counter>& counters() {
  static constinit PerProcess<Counter> all;
  return all;
}

TEST(PerProcess, IsOneStateInAProcess) { EXPECT_EQ(&counters().get(), &counters().get()); }

TEST(PerProcess, IsNewInAChildOfForkEvenIfAThreadOfTheParentHasItsLock) {
  if (testing::kThreadSanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow a fork of a process with threads";
  counters().get().value = 7;
  std::atomic<bool> has{false}, ends{false};
  std::thread holder([&] {
    const std::lock_guard lock(counters().get().mutex);
    has = true;
    while (!ends) std::this_thread::yield();
  });
  while (!has) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const std::lock_guard lock(counters().get().mutex);
    counters().get().value += 1;
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(counters().get().value == 0 ? 0 : 1);
    int status = -1;
    waitpid(grandchild, &status, 0);
    _exit(status == 0 && counters().get().value == 1 ? 0 : 1);
  }
  ends = true;
  holder.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(counters().get().value, 7);
}

}  // namespace
}  // namespace xylem
