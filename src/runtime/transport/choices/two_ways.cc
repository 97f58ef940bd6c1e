#include "runtime/transport/choices/two_ways.h"

#include <fmt/core.h>

#include <numeric>
#include <utility>

namespace xylem::transport {
namespace {

double ratio(std::chrono::nanoseconds a, std::chrono::nanoseconds b) {
  return static_cast<double>(a.count()) / static_cast<double>(std::max<std::int64_t>(b.count(), 1));
}

}  // namespace

std::optional<WayChange> TwoWays::took(bool second, std::optional<Time> time) {
  used_ = true;
  if (second != this->second()) return {};
  if (time) return tookTime(*time);
  if (trying_ && ++untimed_ >= kMostTries) {
    trying_ = settled_ = false;
    untilTrial_ = kInterval;
    return {};
  }
  settled_ = true;
  // Enough operations are left to be timed.
  if (!trying_ && untilTrial_ > kTimed) --untilTrial_;
  return {};
}

TwoWays::Time TwoWays::timeOf(std::span<const Time> times) const {
  if (flow_ == Flow::kOneWay)
    return std::reduce(times.begin(), times.end()) / static_cast<Time::rep>(times.size());
  return std::ranges::min(times.last(std::min(times.size(), kLatest)));
}

void TwoWays::resume() {
  settled_ = false;
  if (std::exchange(trying_, false)) untilTrial_ = kConfirming;
}

std::optional<WayChange> TwoWays::tookTime(Time time) {
  if (trying_) {
    if (++tries_ == 1) return {};
    const std::span<Time> before = std::span(tried_).first(static_cast<std::size_t>(tries_ - 2));
    const bool shorter = !before.empty() && ratio(time, std::ranges::min(before)) < kStillShorter;
    sinceShorter_ = shorter ? 0 : sinceShorter_ + 1;
    tried_[before.size()] = time;
    return isTried(time) ? decide() : std::nullopt;
  }
  if (std::exchange(settled_, true)) {
    std::shift_left(latest_.begin(), latest_.end(), 1);
    latest_.back() = time;
    ++timed_;
    if (++counted_ == 1 && !isNew_ && trials_ == 0 && isLong(time)) untilTrial_ = kBetweenLong;
  }
  if (counted_ == 0 || --untilTrial_ > 0) return {};
  if (std::exchange(isNew_, false)) {
    const Time now = usually();
    if (now > before_) return take(before_, now, true);
    broken_ = 0;
    untilTrial_ = untilNext(std::min(ratio(before_, now), kHardlySlower));
    return {};
  }
  if (!mayBeTried()) {
    untilTrial_ = 1;
    return {};
  }
  trying_ = true;
  tries_ = sinceShorter_ = untimed_ = 0;
  return {};
}

// Whether the usual way is known well enough to be compared.
bool TwoWays::mayBeTried() {
  isKnown_ = isKnown_ || timed_ >= untilKnown(usually()) || isLong(usually());
  return isKnown_;
}

// Takes the other way from now on.
WayChange TwoWays::take(Time now, Time before, bool back) {
  usual_ = !usual_;
  settled_ = promising_ = false;
  if (back) latest_.back() = now;
  counted_ = back ? 1 : 0;
  isNew_ = !back;
  before_ = before;
  if (back) ++broken_;
  untilTrial_ = back ? untilNext(1) : untilKnown(now);
  return {.second = usual_, .back = back, .before = before, .now = now};
}

// Operations until the next trial of a way that takes this many times as long.
std::uint32_t TwoWays::untilNext(double slower) const {
  const double longer =
      std::max(1.0, slower * slower) * static_cast<double>(std::uint64_t{1} << std::min(broken_, 16));
  return static_cast<std::uint32_t>(std::min<double>(kLongestInterval, kInterval * longer));
}

// Operations that take as long until it is known how long they usually do.
std::uint32_t TwoWays::untilKnown(Time time) {
  return static_cast<std::uint32_t>(
      std::clamp<Time::rep>(kKnownAfter / std::max(time, Time(1)), kLeastKnown, kInterval));
}

// Whether a trial whose last operation took this long is over. If the other way is clearly faster at once, it is; if it becomes so later, it costs
// nothing to go on, and to judge after each operation would find noise.
bool TwoWays::isTried(Time time) const {
  if (tries_ == kMostTries) return true;
  if (isLong(time) && ratio(time, usually()) > kClearlyFaster)
    return tries_ >= kLeastLong && sinceShorter_ > 0;
  if (tries_ < kTries) return false;
  if (std::reduce(tries().begin(), tries().end()) >= kMostTried) return true;
  const double slower = ratio(tried(), usually());
  if (tries_ == kTries && slower * kClearlyFaster < 1) return true;
  return slower > kClearlyFaster && sinceShorter_ >= kPatience;
}

std::optional<WayChange> TwoWays::decide() {
  trying_ = settled_ = false;
  const Time before = usually();
  const Time now = tried();
  const double slower = ratio(now, before);
  const bool faster = slower * kClearlyFaster < 1;
  if (faster && promising_) return take(now, before, false);
  promising_ = faster;
  ++trials_;
  if (faster) counted_ = 0;  // the second trial has times of its own
  if (faster) {
    untilTrial_ = isLong(before) ? kBetweenLong : kConfirming;
  } else {
    untilTrial_ = untilNext(slower);
    if (trials_ <= kEarlyTrials && slower < kHardlySlower)
      untilTrial_ = std::min(untilTrial_, untilKnown(before));
    // Not more often because trials are longer.
    untilTrial_ *= static_cast<std::uint32_t>(std::max(1, tries_ / kTries));
  }
  return {};
}

namespace {

double microseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000; }
std::string_view wayName(const WayChange& change, bool second) { return change.names[second]; }

}  // namespace

std::string changeText(std::string_view what, const WayChange& change) {
  return fmt::format("{} of {} bytes: {} from now on, which took {:.1f} us; {} {:.1f} us", what, change.bytes,
                     wayName(change, change.second), microseconds(change.now),
                     wayName(change, !change.second), microseconds(change.before));
}

std::string wayText(std::string_view what, const WayChange& change) {
  return fmt::format("{} of {} bytes {} in {:.1f} us, {} in {:.1f} us", what, change.bytes,
                     wayName(change, change.second), microseconds(change.now),
                     wayName(change, !change.second), microseconds(change.before));
}

}  // namespace xylem::transport
