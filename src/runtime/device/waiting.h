#pragma once
// The one policy of waiting: spin briefly, then yield the core, then sleep for ever longer, up to a
// millisecond.
//
//   Backoff backoff(chooseWaitPolicy(oversubscribed));
//   while (!ready()) backoff.pause();
//
// Waking a thread on another core takes tens of microseconds, a step of a small collective less than one; so
// a thread that has a core to itself spins. If ranks share cores, spinning only keeps the awaited rank from
// running.

#include <chrono>
#include <cstdint>

namespace xylem::device {

struct WaitPolicy {
  int spins = 0;   // pauses of the processor, tens of nanoseconds each
  int yields = 0;  // times the core is offered to another thread
  std::chrono::microseconds firstSleep{20};
  std::chrono::microseconds longestSleep{1000};
};

// Tells the processor that this thread spins.
void pauseProcessor();

// `oversubscribed`: the host has more ranks than cores.
WaitPolicy chooseWaitPolicy(bool oversubscribed);

class Backoff {
 public:
  explicit Backoff(const WaitPolicy& policy) : policy_(policy), sleep_(policy.firstSleep) {}

  // Waits, for longer the more often it was called since reset().
  void pause();
  // After progress: starts again with short waits.
  void reset() {
    count_ = 0;
    sleep_ = policy_.firstSleep;
    watching_ = false;
  }
  // True about once per millisecond of waiting, from the second one on: time to check whether waiting makes
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

}  // namespace xylem::device
