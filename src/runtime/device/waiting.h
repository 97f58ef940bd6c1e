#pragma once
// The one policy of waiting: spin briefly, then yield the core, then sleep for ever longer, up to a
// millisecond.
//
//   Backoff backoff(chooseWaitPolicy(oversubscribed));
//   while (!ready()) backoff.pause();
//
// A call that may leave its work to a stream waits for a moment only:
//
//   if (!spin.finishes(bytes, [&] { return step(); })) handOver();
//
// Waking a thread on another core takes tens of microseconds, a step of a small collective less than one; so
// a thread that has a core to itself spins. If ranks share cores, spinning only keeps the awaited rank from
// running.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace xylem::device {

// Yields have a time, not a number: each may give a busy program a whole slice of time.
struct WaitPolicy {
  int spins = 0;                             // pauses of the processor, tens of nanoseconds each
  std::chrono::microseconds yielding{1000};  // how long the core is offered to other threads
  std::chrono::microseconds firstSleep{20};
  std::chrono::microseconds longestSleep{1000};
  std::chrono::milliseconds stallInterval{1};  // from one check to the next one whether waiting makes sense
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
    watching_ = sleeping_ = false;
  }
  // True about once per WaitPolicy::stallInterval of waiting, from the second one on: time to check whether waiting makes
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
  bool watching_ = false;  // the clock was read
  bool sleeping_ = false;
  bool stallDue_ = false;
  Clock::time_point lastYield_{}, nextStall_{};
};

// How long a call waits for other ranks before it leaves its work to a stream. Waiting pays off if the other
// ranks come at about the same time. After each wait in vain, the number of calls until the next wait doubles;
// after a success the next call waits again.
class BriefSpin {
 public:
  // `spins`: every rank has a core of its own, so waiting for a moment takes the core from no other rank.
  explicit BriefSpin(bool spins) : spins_(spins) {}

  // Calls `step` until it returns true; gives up after about half a microsecond, and the time that the other
  // ranks may need for `bytes` of data. Returns whether it returned true. The processor's pause takes as long as a few
  // steps, so that a rank which waits for a moment only is late by half of one: the first times there is none.
  template <typename Step>
  bool finishes(std::size_t bytes, Step&& step) {
    const bool waits = spins_ && ++skipped_ >= patience_;
    if (waits) skipped_ = 0;
    const std::size_t tries = waits ? kTries + bytes / kBytesPerTry : 1;
    for (std::size_t tried = 0; tried < tries; ++tried) {
      if (tried >= kBusyTries) pauseProcessor();
      if (step()) {
        patience_ = 1;
        return true;
      }
    }
    if (waits) patience_ = 2 * patience_ < kMaxPatience ? 2 * patience_ : kMaxPatience;
    return false;
  }

 private:
  static constexpr std::size_t kTries = 32, kBytesPerTry = 256, kBusyTries = 8;
  static constexpr int kMaxPatience = 64;

  const bool spins_;
  int patience_ = 1;  // one in `patience_` calls waits
  int skipped_ = 0;   // calls since the last one that waited
};

}  // namespace xylem::device
