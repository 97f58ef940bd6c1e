#pragma once
// The time of calls that are done at once. To read the processor's clock takes a quarter of the shortest of them. So calls that
// follow each other at once share a reading: after kShared of them that took kDense at most, the next ones have the time of the last,
// until there are kShared again, or the system's coarse clock, which costs a third, moves on. A time is early by a tick of that
// clock, which is 1 to 10 ms, at most.
//
//   SharedTicks ticks;
//   record.issued = ticks.now();
//   ticks.stop();                 // the next call has a time of its own

#include <time.h>

#include <cstdint>

#include "runtime/comm/watch/record_buffer.h"

namespace xylem::comm {

class SharedTicks {
 public:
  std::uint64_t now() {
    if (++calls_ < kShared && dense_ && coarseClock() == coarse_) return ticks_;
    return read();
  }
  void stop() { calls_ = kShared; }

 private:
  static constexpr unsigned kShared = 32;
  static constexpr double kDense = 8000;  // nanoseconds

  static std::int64_t coarseClock() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  std::uint64_t read() {
    ticks_ = readTicks();
    if (calls_ < kShared && !dense_) return ticks_;
    dense_ = calls_ == kShared && static_cast<double>(ticks_ - begun_) * likelyNanosecondsPerTick() <= kDense;
    begun_ = ticks_;
    calls_ = 0;
    if (dense_) coarse_ = coarseClock();
    return ticks_;
  }

  unsigned calls_ = 0;  // since the one that began this run
  bool dense_ = false;  // the run before was
  std::uint64_t begun_ = 0, ticks_ = 0;
  std::int64_t coarse_ = 0;
};

}  // namespace xylem::comm
