#include "runtime/transport/choices/two_ways.h"

namespace xylem::transport {

void TwoWays::took(bool second, Time time) {
  if (second != this->second()) return;
  if (trying_) {
    if (++tries_ == 2 || (tries_ > 2 && time < tried_)) tried_ = time;
    if (tries_ == kTries) decide();
    return;
  }
  latest_[counted_++ % latest_.size()] = time;
  if (--untilTrial_ > 0) return;
  trying_ = true;
  tries_ = 0;
}

void TwoWays::decide() {
  trying_ = false;
  const Time least = *std::min_element(latest_.begin(), latest_.end());
  const double slower =
      static_cast<double>(tried_.count()) / static_cast<double>(std::max<Time::rep>(least.count(), 1));
  const bool faster = slower * kClearlyFaster < 1;
  if (faster && promising_) {
    usual_ = !usual_;
    promising_ = false;
    untilTrial_ = kInterval;
    return;
  }
  promising_ = faster;
  untilTrial_ = faster ? kConfirming
                       : static_cast<std::uint32_t>(
                             std::min<double>(kLongestInterval, kInterval * std::max(1.0, slower * slower)));
}

}  // namespace xylem::transport
