#include "runtime/transport/choices/message_ways.h"

namespace xylem::transport {
namespace {

WaysBySize waysOf(const CopyChoices& choices, bool isFar) {
  return WaysBySize([&](std::uint64_t bytes) { return choices.beginsRead(bytes, isFar); }, Flow::kOneWay);
}

}  // namespace

MessageWays::MessageWays(const CopyChoices& choices, bool decides, TellChange tell, bool fixed)
    : choices_(choices),
      decides_(decides),
      fixed_(fixed),
      tell_(std::move(tell)),
      distance_(choices.far != 0),
      far_(distance_.isFar()),
      timed_{waysOf(choices, false), waysOf(choices, true)},
      tells_(readSizes() | kHeard | (distance_.isFar() ? kFar : 0)),
      untimed_(fixed ? ~std::uint32_t{0} : 0) {}

// A bit for each size that is read.
std::uint32_t MessageWays::readSizes() {
  std::uint32_t sizes = 0;
  for (std::size_t size = 0; size < WaysBySize::kSizes; ++size)
    if (timed().second(WaysBySize::kLeast << size)) sizes |= std::uint32_t{1} << size;
  return sizes;
}

bool MessageWays::sends(std::uint64_t bytes, std::uint32_t told) {
  if (fixed_) return choices_.reads(bytes);
  const std::size_t size = WaysBySize::indexOf(bytes);
  bool mine = false, reads = choices_.reads(bytes);
  if (!busy_.test_and_set(std::memory_order_acquire)) {
    sent_[size] = kBothWays;
    if (received_[size] > 0) {
      --received_[size];
      mine = decides_;
    }
    if (mine) reads = timed().second(bytes);
    busy_.clear(std::memory_order_release);
  }
  if (mine || (told & kTold) == 0) return reads;
  return (told >> size & 1) != 0;
}

std::uint32_t MessageWays::received(std::uint64_t bytes, bool read,
                                    std::optional<std::chrono::nanoseconds> time,
                                    std::optional<std::chrono::nanoseconds> line) {
  if (busy_.test_and_set(std::memory_order_acquire)) return tells_;
  const bool moved = distance_.took(line);
  std::uint32_t tells = tells_ & (kTold | kSizes);
  if (moved) {
    far_.store(distance_.isFar(), std::memory_order_relaxed);
    timed().resume();
    tells = (tells & kTold) | readSizes();
    if (!fixed_) untimed_ = 0;
  }
  bool bothWays = false;
  std::optional<WayChange> change;
  if (!fixed_ && WaysBySize::has(bytes)) {
    const std::size_t size = WaysBySize::indexOf(bytes);
    received_[size] = kBothWays;
    bothWays = sent_[size] > 0;
    if (bothWays) --sent_[size];
    const std::uint32_t bit = std::uint32_t{1} << size;
    bool times = false;
    if (decides_ || !bothWays) {
      if (!moved) change = timed().took(bytes, read, time);
      times = timed().times(bytes);
      tells = kTold | (timed().second(bytes) ? tells | bit : tells & ~bit);
    }
    untimed_ = times ? untimed_ & ~bit : untimed_ | bit;
  }
  tells_ = tells | kHeard | (distance_.isFar() ? kFar : 0);
  busy_.clear(std::memory_order_release);
  if (change && tell_) tell_(bothWays ? "messages to and from" : "messages from", *change);
  return tells_;
}

}  // namespace xylem::transport
