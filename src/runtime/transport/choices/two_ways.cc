#include "runtime/transport/choices/two_ways.h"

#include <fmt/core.h>

namespace xylem::transport {

std::optional<WayChange> TwoWays::took(bool second, Time time) {
  if (second != this->second()) return {};
  if (trying_) {
    if (++tries_ == 1) return {};
    const bool shorter =
        static_cast<double>(time.count()) < kStillShorter * static_cast<double>(tried_.count());
    tried_ = tries_ == 2 ? time : std::min(tried_, time);
    return tries_ == kMostTries || (tries_ >= kTries && !shorter) ? decide() : std::nullopt;
  }
  latest_[counted_++ % latest_.size()] = time;
  if (--untilTrial_ > 0) return {};
  trying_ = true;
  tries_ = 0;
  return {};
}

std::optional<WayChange> TwoWays::decide() {
  trying_ = false;
  const Time least = *std::min_element(latest_.begin(), latest_.end());
  const double slower =
      static_cast<double>(tried_.count()) / static_cast<double>(std::max<Time::rep>(least.count(), 1));
  const bool faster = slower * kClearlyFaster < 1;
  if (faster && promising_) {
    usual_ = !usual_;
    promising_ = false;
    untilTrial_ = kInterval;
    return WayChange{.second = usual_, .before = least, .now = tried_};
  }
  promising_ = faster;
  untilTrial_ = faster ? kConfirming
                       : static_cast<std::uint32_t>(
                             std::min<double>(kLongestInterval, kInterval * std::max(1.0, slower * slower)));
  return {};
}

namespace {

double microseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000; }
const char* wayName(bool second) { return second ? "read" : "staged"; }

}  // namespace

std::string changeText(std::string_view what, const WayChange& change) {
  return fmt::format("{} of {} bytes: {} from now on, which took {:.1f} us; {} {:.1f} us", what, change.bytes,
                     wayName(change.second), microseconds(change.now), wayName(!change.second),
                     microseconds(change.before));
}

std::string wayText(std::string_view what, const WayChange& change) {
  return fmt::format("{} of {} bytes {} in {:.1f} us, {} in {:.1f} us", what, change.bytes,
                     wayName(change.second), microseconds(change.now), wayName(!change.second),
                     microseconds(change.before));
}

}  // namespace xylem::transport
