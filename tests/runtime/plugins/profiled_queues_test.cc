// The events of a queue that receives, whose steps come and are read while further parts are begun.

#include "runtime/plugins/profiled_queues.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "core/log.h"
#include "core/settings.h"
#include "runtime/plugins/profiler/profiler_events.h"

namespace xylem::testing {
namespace profiled_queues {

constexpr int kSteps = transport::kQueueSteps;
constexpr int kVersion = 3;  // the last one that tells how many bytes have come

class ProfiledReceives : public ::testing::Test {
 protected:
  ProfiledReceives() {
    setenv("TEST_PROFILER_MASK", "24", 1);
    plugin_.lines();
    profiler_ = plugins::findProfiler(Settings::fromPairs({{"NCCL_PROFILER_PLUGIN", profilerFile(kVersion)}}),
                                      {0, 1}, std::make_shared<const Logger>(Settings()));
    if (profiler_ == nullptr) throw std::runtime_error("there is no profiler in " + profilerFile(kVersion));
    queue_ = std::make_unique<plugins::ProfiledQueue>(*profiler_, mutex_, control_, false);
  }
  ~ProfiledReceives() override { unsetenv("TEST_PROFILER_MASK"); }

  void begin(std::uint64_t first, int steps) {
    queue_->begin({.call = &call_, .steps = steps, .stepBytes = 64}, first);
  }

  const ProfilerLibrary plugin_{kVersion};
  int call_ = 0;
  std::unique_ptr<plugins::Profiler> profiler_;
  std::mutex mutex_;
  transport::QueueControl control_{};
  std::unique_ptr<plugins::ProfiledQueue> queue_;
};

// The kernel raises `head`, and no call tells of it.
TEST_F(ProfiledReceives, EndTheStepsThatAKernelReadBeforeTheNextPartBegins) {
  for (std::uint64_t first = 0; first < 3 * kSteps; first += kSteps) {
    begin(first, kSteps);
    for (std::uint64_t step = first; step < first + kSteps; ++step) {
      queue_->posted(step, 64);
      queue_->moved(step, 64);
      control_.tail.store(step + 1);
    }
    control_.head.store(first + kSteps);
  }
  queue_->read();
  int parts = 0, steps = 0;
  for (const auto& [event, told] : eventsIn(plugin_.lines())) {
    EXPECT_TRUE(told.stopped) << event << ": " << told.line;
    ++(told.line.find(" step ") == std::string::npos ? parts : steps);
  }
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(steps, 3 * kSteps);
}

// The thread that moves step 0 has told of it, and has not counted it yet, when its part begins.
TEST_F(ProfiledReceives, TellOfAStepThatCameJustBeforeItsPartBegan) {
  control_.notes[0].bytes = 40;
  queue_->moved(0, 40);
  begin(0, 2);
  control_.tail.store(1);
  control_.head.store(1);
  control_.notes[1].bytes = 24;
  queue_->moved(1, 24);
  control_.tail.store(2);
  control_.head.store(2);
  queue_->read();
  const std::map<int, ProfilerTold> events = eventsIn(plugin_.lines());
  EXPECT_EQ(expectAllSteps(events), 1);
  for (const auto& [event, told] : events) {
    if (told.line.find(" op ") != std::string::npos) EXPECT_EQ(told.states.back().bytes, 40u + 24u);
  }
}

}  // namespace profiled_queues
}  // namespace xylem::testing
