#pragma once
// How the messages of a pair of ranks go that the receiver cannot map: staged in their queue, or read through the kernel; and whether their
// cores are near each other. Each rank has one object for a connection, for both directions; several threads may use it.
//
//   MessageWays ways(choices, mine < theirs, tell);
//   if (ways.sends(bytes, told)) ...                       // the sender: this message is read
//   if (ways.times(bytes)) ...                             // the receiver: the time of this message is needed
//   told = ways.received(bytes, wasRead, duration, line);  // the receiver; the sender gets to know `told`
//
// A receiver times some of its messages (TwoWays) and tells the sender how the next ones are to go. Near cores and far ones each have their
// own times (CoreDistance). If messages of a size go both ways, one of the two ranks decides for both directions, from what it receives: two
// that go different ways at the same time both take longer than two that go the same way, whichever that is.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/transport/choices/copy_choices.h"
#include "runtime/transport/choices/core_distance.h"
#include "runtime/transport/choices/two_ways.h"

namespace xylem::transport {

class MessageWays {
 public:
  // `decides`: this rank does, for messages that go both ways; the peer does not. Their first way is that of the choices. `tell`, if
  // it is not empty, hears of changes of "messages from" the peer or "messages to and from" it, in whichever thread receives. `fixed`: all
  // go as in the choices.
  MessageWays(const CopyChoices& choices, bool decides, TellChange tell = {}, bool fixed = false);

  // Whether the peer's core is far, as this rank has found out from what it received, and as the peer has told.
  bool isFar() const { return far_.load(std::memory_order_relaxed); }
  bool isFar(std::uint32_t told) const { return (told & kHeard) == 0 ? isFar() : (told & kFar) != 0; }

  // Whether the next message to the peer is read. `told`: what the peer's received() returned last; 0 if nothing.
  bool sends(std::uint64_t bytes, std::uint32_t told);
  // Whether to time the next message from the peer.
  bool times(std::uint64_t bytes) const {
    return (untimed_.load(std::memory_order_relaxed) >> WaysBySize::indexOf(bytes) & 1) == 0;
  }
  // A message from the peer took this long, if it was timed, and so did a line from its core. Returns what to tell the peer: a bit for
  // each size that is read, kTold once this rank has decided, kHeard, and kFar.
  std::uint32_t received(std::uint64_t bytes, bool read, std::optional<std::chrono::nanoseconds> time,
                         std::optional<std::chrono::nanoseconds> line = {});

  static constexpr std::uint32_t kTold = 1U << 31, kFar = 1U << 30, kHeard = 1U << 29;

 private:
  // A size goes both ways while the last message of the other direction is less than this many ago. A large message is several
  // here, one for each channel.
  static constexpr int kBothWays = 64;
  static constexpr std::uint32_t kSizes = (1U << WaysBySize::kSizes) - 1;
  WaysBySize& timed() { return timed_[distance_.isFar()]; }
  std::uint32_t readSizes();

  const CopyChoices choices_;
  const bool decides_, fixed_;
  const TellChange tell_;
  std::atomic_flag busy_;  // a thread that would have to wait does without
  CoreDistance distance_;
  std::atomic<bool> far_;            // distance_.isFar()
  std::array<WaysBySize, 2> timed_;  // between near cores, and between far ones
  std::atomic<std::uint32_t> tells_{0};
  // A bit for each size of which the next message's time is not needed.
  std::atomic<std::uint32_t> untimed_{0};
  // By WaysBySize::indexOf: how many messages of the other direction may still pass.
  std::array<int, WaysBySize::kSizes> sent_{}, received_{};
};

}  // namespace xylem::transport
