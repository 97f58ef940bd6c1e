#pragma once
// A point in time after which waiting is over.
//
//   const Deadline deadline = Deadline::after(std::chrono::seconds(60));
//   while (!deadline.passed()) poll(fds, n, deadline.pollMilliseconds());

#include <algorithm>
#include <chrono>

namespace xylem {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(std::chrono::milliseconds span) { return Deadline(Clock::now() + span); }

  bool passed() const { return Clock::now() >= when_; }
  // The time left for poll(2), in milliseconds: at most `limit`, never negative, and rounded up so that poll
  // does not return early.
  int pollMilliseconds(int limit = 1000) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when_ - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, limit));
  }
  static Deadline earlier(Deadline a, Deadline b) { return a.when_ < b.when_ ? a : b; }

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

}  // namespace xylem
