#include "comparison/statistics.h"

#include <algorithm>
#include <cmath>

namespace xylem::bench {
namespace {

// The states of a machine differ by a factor of two and more; within one, probes vary by a fifth.
constexpr double kWidth = 1.4;

}  // namespace

Window majorityWindow(std::vector<double> probes) {
  std::sort(probes.begin(), probes.end());
  Window best;
  std::ptrdiff_t most = 0;
  for (auto low = probes.begin(); low != probes.end(); ++low) {
    const auto end = std::upper_bound(low, probes.end(), *low * kWidth);
    if (end - low <= most) continue;
    most = end - low;
    best = {*low, *(end - 1)};
  }
  return best;
}

Estimate estimate(const std::vector<Sample>& samples, const Window& window) {
  std::vector<double> all, inWindow;
  for (const Sample& sample : samples) {
    all.push_back(sample.seconds);
    if (window.holds(sample.before) && window.holds(sample.after)) inWindow.push_back(sample.seconds);
  }
  return {median(inWindow.empty() ? all : inWindow), inWindow.size(), all.size()};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<double> geometricMean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace xylem::bench
