#include "runtime/transport/choices/message_ways.h"

namespace xylem::transport {

MessageWays::MessageWays(const CopyChoices& choices, bool decides, TellChange tell)
    : choices_(choices),
      decides_(decides),
      tell_(std::move(tell)),
      timed_{WaysBySize([&](std::uint64_t bytes) { return choices.reads(bytes); }, Flow::kOneWay),
             WaysBySize([&](std::uint64_t bytes) { return choices.reads(bytes); }, Flow::kOneWay)},
      tells_(readSizes()) {}

// A bit for each size that is read.
std::uint32_t MessageWays::readSizes() {
  std::uint32_t sizes = 0;
  for (std::size_t size = 0; size < WaysBySize::kSizes; ++size)
    if (timed().second(WaysBySize::kLeast << size)) sizes |= std::uint32_t{1} << size;
  return sizes;
}

bool MessageWays::sends(std::uint64_t bytes, std::uint32_t told) {
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
  const std::size_t size = WaysBySize::indexOf(bytes);
  received_[size] = kBothWays;
  const bool bothWays = sent_[size] > 0;
  if (bothWays) --sent_[size];
  const std::uint32_t bit = std::uint32_t{1} << size;
  std::optional<WayChange> change;
  bool times = false;
  if (decides_ || !bothWays) {
    change = timed().took(bytes, read, time);
    std::uint32_t reads = tells_;
    if (distance_.took(line)) {
      timed().resume();
      reads = readSizes();
      untimed_ = 0;
    }
    times = timed().times(bytes);
    tells_ = kTold | (timed().second(bytes) ? reads | bit : reads & ~bit);
  }
  untimed_ = times ? untimed_ & ~bit : untimed_ | bit;
  busy_.clear(std::memory_order_release);
  if (change && tell_) tell_(bothWays ? "messages to and from" : "messages from", *change);
  return tells_;
}

}  // namespace xylem::transport
