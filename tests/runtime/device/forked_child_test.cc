// The scheduler in a child of fork, which has its parent's streams and workers, but not the threads.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/device/host_device.h"
#include "runtime/device/scheduler.h"
#include "support/patience.h"
#include "support/sanitizers.h"

namespace xylem::device {
namespace forked_child {

class CountingTask final : public Task {
 public:
  explicit CountingTask(Progress progress) : progress_(progress) {}
  Progress step() override {
    ++steps;
    return progress_.load();
  }
  void finish(const Error*) noexcept override { done = true; }
  void setProgress(Progress progress) { progress_ = progress; }

  std::atomic<int> steps{0};
  std::atomic<bool> done{false};

 private:
  std::atomic<Progress> progress_;
};

class ForkedChild : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kThreadSanitizer)
      GTEST_SKIP() << "the thread sanitizer cannot follow a fork of a process with threads";
  }
  // The exit status of a child that does this.
  static int statusOf(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      body();
      _exit(9);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return WEXITSTATUS(status);
  }
  // The caller does not wait in the stream, so the device's worker runs the task.
  static bool workerRuns(Stream& stream) {
    CountingTask task(Progress::kDone);
    Scheduler::instance().enqueue(stream, task);
    return testing::soon([&] { return task.done.load(); });
  }
};

// Static objects are destroyed, and what a thread of the parent waits for cannot be.
TEST_F(ForkedChild, EndsWhileItsParentsWorkerNaps) {
  OwnedStream stream(0);
  ASSERT_TRUE(workerRuns(stream.get()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(statusOf([] { std::exit(0); }), 0);
}

TEST_F(ForkedChild, HasWorkersOfItsOwn) {
  OwnedStream inherited(0);
  ASSERT_TRUE(workerRuns(inherited.get()));
  EXPECT_EQ(statusOf([&] {
              const bool first = workerRuns(inherited.get());
              OwnedStream own(0);
              const bool second = workerRuns(own.get()) && workerRuns(Scheduler::instance().defaultStream(0));
              _exit(first && second ? 0 : 1);
            }),
            0);
  EXPECT_TRUE(workerRuns(inherited.get()));
}

TEST_F(ForkedChild, LeavesItsParentsTasksAlone) {
  auto stream = std::make_unique<OwnedStream>(0);
  CountingTask task(Progress::kWouldBlock), second(Progress::kWouldBlock);
  Stream& common = Scheduler::instance().defaultStream(0);
  Scheduler::instance().enqueue(stream->get(), task);
  Scheduler::instance().enqueue(common, second);
  ASSERT_TRUE(testing::soon([&] { return task.steps > 0 && second.steps > 0; }));
  EXPECT_EQ(
      statusOf([&] {
        const int before = task.steps + second.steps;
        Scheduler::instance().wait(stream->get());
        Scheduler::instance().poll(&common);
        OwnedStream own(0);
        const bool runs = workerRuns(own.get()) && workerRuns(common) && workerRuns(stream->get());
        stream.reset();
        _exit(runs && !Scheduler::instance().waitDevice(0) && task.steps + second.steps == before ? 0 : 1);
      }),
      0);
  task.setProgress(Progress::kDone);
  second.setProgress(Progress::kDone);
  Scheduler::instance().wait(stream->get());
  Scheduler::instance().wait(common);
  EXPECT_TRUE(task.done && second.done);
}

// A thread that the child does not have is inside of it, and would never leave it.
TEST_F(ForkedChild, UsesAStreamThatAThreadOfItsParentWasRunning) {
  class HeldTask final : public Task {
   public:
    Progress step() override {
      begun = true;
      while (!released) std::this_thread::yield();
      return Progress::kDone;
    }
    void finish(const Error*) noexcept override {}
    std::atomic<bool> begun{false}, released{false};
  };
  auto stream = std::make_unique<OwnedStream>(0);
  HeldTask held;
  Scheduler::instance().enqueue(stream->get(), held);
  ASSERT_TRUE(testing::soon([&] { return held.begun.load(); }));
  EXPECT_EQ(statusOf([&] {
              Scheduler::instance().wait(stream->get());
              const bool runs = workerRuns(stream->get());
              stream.reset();
              _exit(runs ? 0 : 1);
            }),
            0);
  held.released = true;
  Scheduler::instance().wait(stream->get());
}

}  // namespace forked_child
}  // namespace xylem::device
