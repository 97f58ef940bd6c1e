#pragma once
// Where the data of each meeting lies in the ring of staging memory that every rank has (Mailbox::ring): behind that of the meeting
// before, and from the start again when the next data does not fit. All ranks count alike, so a rank knows the places in the rings of
// all others, too.
//
//   StagingRing ring(CopyChoices().cycle);
//   const std::size_t at = ring.take(bytes, number);   // on all ranks, for each meeting that stages data there
//   ring.needed()                                      // this meeting must have been left by all others before `at` is written
//
// The ring is cut into zones, of which only the last meeting is known that had data in them. Data may be written once that meeting of
// the lap before has been left. More than that is waited for, by up to a zone, and the counters of the other ranks are read once per zone.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/transport/local/mailbox.h"

namespace xylem::collectives {

class StagingRing {
 public:
  // `cycle`: bytes, of which one meeting takes a third at most: then its data does not overlap that of the next one.
  explicit StagingRing(std::size_t cycle) : cycle_(cycle), zoneBytes_((cycle + kZones - 1) / kZones) {}

  std::size_t cycle() const { return cycle_; }
  // Takes the next `bytes` > 0 for a meeting, and returns where they begin.
  std::size_t take(std::size_t bytes, std::uint64_t number) {
    const std::size_t at = next(bytes);
    if (at == 0) entered_ = 0;
    const std::size_t first = at / zoneBytes_, end = (at + bytes - 1) / zoneBytes_ + 1;
    for (; entered_ < end; ++entered_) zones_[entered_].lapBefore = zones_[entered_].last;
    needed_ = 0;
    for (std::size_t zone = first; zone < end; ++zone) {
      needed_ = std::max(needed_, zones_[zone].lapBefore);
      zones_[zone].last = number;
    }
    last_ = at;
    next_ = at + (bytes + kGrain - 1) / kGrain * kGrain;
    return at;
  }
  // The place that take() would return.
  std::size_t next(std::size_t bytes) const {
    const bool startIsTaken = last_ < bytes;  // by the meeting before
    return next_ + bytes <= (startIsTaken ? cycle_ : lapOf(bytes)) ? next_ : 0;
  }
  // The meeting that had data last where take() returned, or nearby, in the lap before; 0 if there was none.
  std::uint64_t needed() const { return needed_; }

 private:
  static constexpr std::size_t kZones = 16;
  static constexpr std::size_t kGrain = 128;  // processors fetch lines in pairs
  // Where going far gains nothing, data of one size stays in the second-level caches of both the rank that writes it and the one that reads.
  static constexpr std::size_t kLeastLap = std::size_t{256} << 10;
  std::size_t lapOf(std::size_t bytes) const {
    return cycle_ > transport::kLeastCycle ? cycle_ : std::min(cycle_, std::max(4 * bytes, kLeastLap));
  }
  struct Zone {
    std::uint64_t last = 0, lapBefore = 0;  // meetings
  };

  const std::size_t cycle_, zoneBytes_;
  std::size_t last_ = 0, next_ = 0;  // where the last data begins, and where the next may
  std::size_t entered_ = 0;          // zones, in this lap
  std::uint64_t needed_ = 0;
  std::array<Zone, kZones> zones_{};
};

}  // namespace xylem::collectives
