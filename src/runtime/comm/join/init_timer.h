#pragma once
// Where the time of joining a communicator goes, in NCCL's parts.
//
//   InitTimer timer;
//   ... meet ...
//   timer.lap(InitPart::kBootstrap);
//   timer.text()   ->   "total 0.02 (kernels 0.00, alloc 0.00, bootstrap 0.01, …, rest 0.00)"

#include <array>
#include <chrono>
#include <string>

namespace xylem {

// In the order of NCCL's line.
enum class InitPart { kKernels, kAlloc, kBootstrap, kAllGathers, kTopology, kGraphs, kConnections };
constexpr std::size_t kInitParts = 7;

class InitTimer {
 public:
  using Clock = std::chrono::steady_clock;

  InitTimer() : start_(Clock::now()), last_(start_) {}
  // What has passed since the last lap was spent on `part`.
  void lap(InitPart part);
  double seconds(InitPart part) const { return parts_[static_cast<std::size_t>(part)]; }
  // As NCCL's line calls it.
  static const char* name(InitPart part);
  // Since the start.
  double total() const;
  std::string text() const;

 private:
  Clock::time_point start_, last_;
  std::array<double, kInitParts> parts_{};
};

}  // namespace xylem
