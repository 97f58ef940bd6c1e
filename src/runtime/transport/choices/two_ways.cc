#include "runtime/transport/choices/two_ways.h"

#include <fmt/core.h>

#include <utility>

namespace xylem::transport {

std::optional<WayChange> TwoWays::took(bool second, std::optional<Time> time) {
  used_ = true;
  if (second != this->second()) return {};
  if (time) return tookTime(*time);
  settled_ = true;
  // Enough operations are left to be timed.
  if (!trying_ && untilTrial_ > kTimed) --untilTrial_;
  return {};
}

std::optional<WayChange> TwoWays::tookTime(Time time) {
  if (trying_) {
    if (++tries_ == 1) return {};
    const bool shorter =
        static_cast<double>(time.count()) < kStillShorter * static_cast<double>(tried_.count());
    tried_ = tries_ == 2 ? time : std::min(tried_, time);
    return isTried(time, shorter) ? decide() : std::nullopt;
  }
  if (std::exchange(settled_, true)) {
    if (counted_ == 0) latest_.fill(time);
    latest_[counted_++ % latest_.size()] = time;
    if (counted_ == 1 && isLong(time)) untilTrial_ = kBetweenLong;
  }
  if (counted_ == 0 || --untilTrial_ > 0) return {};
  trying_ = true;
  tries_ = 0;
  return {};
}

// Whether a trial whose last operation took this long is over.
bool TwoWays::isTried(Time time, bool shorter) const {
  if (tries_ == kMostTries) return true;
  const bool clearlySlower =
      static_cast<double>(time.count()) > kClearlyFaster * static_cast<double>(least().count());
  if (isLong(time) && clearlySlower && tries_ >= kLeastLong) return true;
  return tries_ >= kTries && !shorter;
}

std::optional<WayChange> TwoWays::decide() {
  trying_ = settled_ = false;
  const Time usually = least();
  const double slower =
      static_cast<double>(tried_.count()) / static_cast<double>(std::max<Time::rep>(usually.count(), 1));
  const bool faster = slower * kClearlyFaster < 1;
  if (faster && promising_) {
    usual_ = !usual_;
    promising_ = false;
    untilTrial_ = kInterval;
    return WayChange{.second = usual_, .before = usually, .now = tried_};
  }
  promising_ = faster;
  untilTrial_ = faster ? (isLong(tried_) ? kBetweenLong : kConfirming)
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
