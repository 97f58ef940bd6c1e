#pragma once
// Fault points: named places in the library at which a test can act, for example kill its own process.
//
//   XYLEM_FAULT_POINT(kWork);                                          // in the library
//   faultHook = [](FaultPoint point) { kill(getpid(), SIGKILL); };     // in a test
//
// Only tests/faults has them. It compiles the files with fault points once more, with XYLEM_FAULT_POINTS, and
// links those objects instead of the library's. So the library that is installed, measured and used by all
// other tests has no code for fault points, not even a branch.

#ifdef XYLEM_FAULT_POINTS

#include <atomic>
#include <cstdint>

namespace xylem {

enum class FaultPoint : std::uint8_t {
  kPost,  // before a rank posts a descriptor of the direct exchange, with the places of its buffers
  kWork,  // before a rank combines elements of all ranks
  kWait,  // when an operation has made no progress for some milliseconds
  kEnd,   // after a rank's own part of a launch
};

// Called at every fault point with its name, on any thread; null: nothing happens.
inline std::atomic<void (*)(FaultPoint)> faultHook{nullptr};

inline void reachFaultPoint(FaultPoint point) {
  if (auto* const hook = faultHook.load(std::memory_order_acquire)) hook(point);
}

}  // namespace xylem

#define XYLEM_FAULT_POINT(point) ::xylem::reachFaultPoint(::xylem::FaultPoint::point)
#else
#define XYLEM_FAULT_POINT(point) static_cast<void>(0)
#endif
