#pragma once
// The one policy of waiting: spin briefly, then yield the core, then sleep for ever longer, up to a
// millisecond.
//
//   Backoff backoff(chooseWaitPolicy(crowded));
//   while (!ready()) backoff.pause();
//
// Waking a thread on another core takes tens of microseconds, a step of a small collective takes less than
// one; so whoever has a core to itself spins. Where ranks share cores, spinning only keeps the awaited rank
// from running.

#include <chrono>
#include <cstdint>

namespace xylem {

struct WaitPolicy {
  int spins = 0;   // pauses of the processor, tens of nanoseconds each
  int yields = 0;  // times the core is offered to another thread
  std::chrono::microseconds firstSleep{20};
  std::chrono::microseconds longestSleep{1000};
};

// Tells the processor that this thread waits.
void pauseProcessor();

// `ranks`: those of this machine that wait at the same time; `cores`: those they share.
WaitPolicy chooseWaitPolicy(bool crowded);

class Backoff {
 public:
  explicit Backoff(const WaitPolicy& policy) : policy_(policy), sleep_(policy.firstSleep) {}

  // Waits a little longer than last time.
  void pause();
  // Something went on: start again with short waits.
  void reset() {
    count_ = 0;
    sleep_ = policy_.firstSleep;
    watching_ = false;
  }
  // True about once per millisecond of waiting, after the first one: time to look whether waiting makes
  // sense.
  bool takeStall() {
    const bool due = stallDue_;
    stallDue_ = false;
    return due;
  }

 private:
  using Clock = std::chrono::steady_clock;
  void watchClock();

  WaitPolicy policy_;
  std::chrono::microseconds sleep_;
  std::uint32_t count_ = 0;
  bool watching_ = false;
  bool stallDue_ = false;
  Clock::time_point nextStall_{};
};

}  // namespace xylem
