#pragma once
// Statistics of measurements on a machine whose speed changes between a few states.
//
//   const Window window = majorityWindow(probes);
//   const Estimate e = estimate(samples, window);   // e.seconds, from e.used of e.total samples

#include <optional>
#include <vector>

namespace xylem::bench {

// Times of a cache line that count as the same state of the machine, in nanoseconds.
struct Window {
  double low = 0, high = 0;
  bool holds(double x) const { return x >= low && x <= high; }
};

// The window that holds most of the probes.
Window majorityWindow(std::vector<double> probes);

struct Sample {
  double seconds = 0;            // of an iteration
  double before = 0, after = 0;  // the probes around it, nanoseconds
};

struct Estimate {
  double seconds = 0;    // median of the samples that count
  std::size_t used = 0;  // 0: none had both probes in the window, so that all count
  std::size_t total = 0;
};

Estimate estimate(const std::vector<Sample>& samples, const Window& window);

double median(std::vector<double> values);

// The geometric mean of positive numbers; nothing for none.
std::optional<double> geometricMean(const std::vector<double>& values);

}  // namespace xylem::bench
