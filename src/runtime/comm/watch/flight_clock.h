#pragma once
// The clock of flight recorders: the processor's counter of ticks, which costs a fraction of a system clock.
// How long a tick is follows from two readings of both clocks, by whoever reads the recorder.
//
//   const std::uint64_t then = flightTicks();
//   const FlightClock clock = FlightClock::since(start);      // `start`: both clocks, when recording began
//   clock.nanosecondsSince(then)

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace xylem {

inline std::uint64_t flightNanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

inline std::uint64_t flightTicks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return flightNanoseconds();
#endif
}

// Both clocks at the same moment.
struct FlightMoment {
  std::uint64_t ticks = 0;
  std::uint64_t nanoseconds = 0;

  static FlightMoment now() { return {flightTicks(), flightNanoseconds()}; }
};

class FlightClock {
 public:
  FlightClock(const FlightMoment& start, const FlightMoment& now) : now_(now) {
    // Under ten milliseconds the two readings say too little.
    if (now.ticks > start.ticks && now.nanoseconds > start.nanoseconds + 10'000'000)
      nanosecondsPerTick_ = static_cast<double>(now.nanoseconds - start.nanoseconds) /
                            static_cast<double>(now.ticks - start.ticks);
  }

  // 0 for what is still to come.
  std::uint64_t nanosecondsSince(std::uint64_t ticks) const {
    if (ticks >= now_.ticks) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(now_.ticks - ticks) * nanosecondsPerTick_);
  }

 private:
  FlightMoment now_;
  double nanosecondsPerTick_ = 0.5;  // of a processor of 2 GHz
};

}  // namespace xylem
