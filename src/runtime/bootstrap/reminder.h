#pragma once
// When to tell the log that something is still waited for: after 5 seconds, and then every 30.
//
//   Reminder reminder;
//   while (...) {
//     poll(..., reminder.pollMilliseconds());
//     if (reminder.due()) log.warn("still waiting after {} s", reminder.seconds());
//   }

#include <algorithm>
#include <chrono>

namespace xylem::bootstrap {

class Reminder {
 public:
  using Clock = std::chrono::steady_clock;
  struct Times {
    std::chrono::milliseconds first = std::chrono::seconds(5);
    std::chrono::milliseconds every = std::chrono::seconds(30);
  };

  Reminder() : Reminder(Times()) {}
  explicit Reminder(const Times& times) : every_(times.every), next_(start_ + times.first) {}

  // True once each time that a reminder is due.
  bool due() {
    if (Clock::now() < next_) return false;
    next_ += every_;
    return true;
  }
  // Since it was made.
  long long seconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_).count();
  }
  // How long to wait for the next one at most.
  int pollMilliseconds() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next_ - Clock::now()).count();
    return static_cast<int>(std::max<long long>(left, 0)) + 1;
  }

 private:
  std::chrono::milliseconds every_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace xylem::bootstrap
