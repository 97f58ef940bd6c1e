#pragma once
// When to try again what has failed and may succeed next time: each time after twice as long, up to a bound.
//
//   Retries retries;
//   if (!retries.again()) throw ...                  // it has failed for the last time
//   if (retries.due()) attempt();

#include <algorithm>
#include <chrono>

namespace xylem {

class Retries {
 public:
  using Clock = std::chrono::steady_clock;

  // Together they take two seconds.
  static constexpr int kMost = 16;
  static constexpr std::chrono::milliseconds kFirst{20};
  static constexpr std::chrono::milliseconds kLongest{160};

  // That an attempt has failed. False if there shall be no other.
  bool again() {
    if (++failures_ >= kMost) return false;
    next_ = Clock::now() + wait_;
    wait_ = std::min(2 * wait_, kLongest);
    return true;
  }
  bool due() const { return Clock::now() >= next_; }
  int failures() const { return failures_; }

 private:
  int failures_ = 0;
  std::chrono::milliseconds wait_ = kFirst;
  Clock::time_point next_{};
};

}  // namespace xylem
