#include "comparison/line_probe.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

namespace xylem::bench {
namespace {

constexpr unsigned kRoundTrips = 150;  // round trips of a batch
constexpr std::size_t kBatches = 7;    // of which the median counts

using Clock = std::chrono::steady_clock;

}  // namespace

struct LineProbe::Lines {
  struct Line {
    alignas(128) std::atomic<unsigned> value{0};
  };
  Line ping, pong;
};

LineProbe::LineProbe(CorePair& pair) : pair_(pair), lines_(std::make_unique<Lines>()) {}
LineProbe::~LineProbe() = default;

double LineProbe::measure() {
  std::array<double, kBatches> times{};
  const unsigned first = lines_->ping.value.load();
  pair_.run([&](int side) {
    std::atomic<unsigned>& mine = side == 0 ? lines_->ping.value : lines_->pong.value;
    std::atomic<unsigned>& theirs = side == 0 ? lines_->pong.value : lines_->ping.value;
    unsigned n = first;
    for (double& time : times) {
      const auto begin = Clock::now();
      for (unsigned i = 0; i < kRoundTrips; ++i) {
        ++n;
        if (side == 0) mine.store(n, std::memory_order_release);
        while (theirs.load(std::memory_order_acquire) != n) {
        }
        if (side == 1) mine.store(n, std::memory_order_release);
      }
      if (side == 0) time = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    }
  });
  std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
  return times[kBatches / 2] / kRoundTrips / 2;
}

}  // namespace xylem::bench
