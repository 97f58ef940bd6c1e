// The events of a queue whose steps a kernel reads, while further parts are begun.

#include "runtime/plugins/profiled_queues.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "core/log.h"
#include "core/settings.h"
#include "runtime/plugins/profiler/profiler_events.h"

namespace xylem::testing {
namespace profiled_queues {

constexpr int kSteps = transport::kQueueSteps;

class ProfiledQueueOfAKernel : public ::testing::Test {
 protected:
  ProfiledQueueOfAKernel() {
    setenv("TEST_PROFILER_MASK", "24", 1);
    plugin_.lines();
  }
  ~ProfiledQueueOfAKernel() override { unsetenv("TEST_PROFILER_MASK"); }

  const ProfilerLibrary plugin_{6};
};

// The kernel raises `head`, and no call tells of it.
TEST_F(ProfiledQueueOfAKernel, EndsTheStepsThatWereReadBeforeTheNextPartBegins) {
  const std::unique_ptr<plugins::Profiler> profiler =
      plugins::findProfiler(Settings::fromPairs({{"NCCL_PROFILER_PLUGIN", profilerFile(6)}}), {0, 1},
                            std::make_shared<const Logger>(Settings()));
  ASSERT_NE(profiler, nullptr);
  int call = 0;
  transport::QueueControl control{};
  std::mutex mutex;
  plugins::ProfiledQueue queue(*profiler, mutex, control, false);
  for (std::uint64_t first = 0; first < 3 * kSteps; first += kSteps) {
    queue.begin({.call = &call, .steps = kSteps, .stepBytes = 64}, first);
    for (std::uint64_t step = first; step < first + kSteps; ++step) {
      queue.posted(step, 64);
      queue.moved(step, 64);
      control.tail.store(step + 1);
    }
    control.head.store(first + kSteps);
  }
  queue.read();
  int parts = 0, steps = 0;
  for (const auto& [event, told] : eventsIn(plugin_.lines())) {
    EXPECT_TRUE(told.stopped) << event << ": " << told.line;
    ++(told.line.find(" step ") == std::string::npos ? parts : steps);
  }
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(steps, 3 * kSteps);
}

}  // namespace profiled_queues
}  // namespace xylem::testing
