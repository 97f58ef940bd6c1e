#pragma once
// How tests wait: a thread first offers its core to others, then it sleeps, as the cores have other tests to run.
//
//   Patience patience;
//   while (!queue.send(step)) patience.pause();
//
//   EXPECT_TRUE(soon([&] { return peer.left(); }));

#include <chrono>
#include <thread>

#include "core/deadline.h"

namespace xylem::testing {

class Patience {
 public:
  void pause() {
    if (++pauses_ <= kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(pauses_ <= kShortSleeps ? 50 : 1000));
  }

 private:
  static constexpr int kYields = 50, kShortSleeps = 1000;
  int pauses_ = 0;
};

// Waits until the condition holds. Returns false if it does not within the limit.
template <typename Condition>
bool soon(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const Deadline deadline = Deadline::after(limit);
  for (Patience patience; !condition(); patience.pause())
    if (deadline.passed()) return false;
  return true;
}

}  // namespace xylem::testing
