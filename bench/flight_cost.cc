// Cost of the flight recorder per call, in nanoseconds: of one entry from being issued to being done, with
// its three readings of the clock; of one reading alone; and of the entry of a call that is done at once, when
// such calls follow each other and share readings.
//
//   flight_cost

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>

#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/comm/watch/record_buffer.h"

namespace xylem {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kCalls = 200'000;
constexpr int kRepeats = 25;

// Nanoseconds of one call; the best of several, as other programs disturb.
double best(const std::function<void(int)>& call) {
  double least = 1e9;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) call(i);
    least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kCalls);
  }
  return least;
}

void run() {
  comm::FlightRecorder recorder({1, 0, 2, 0});
  comm::LaunchRecorder flight;
  const comm::ChosenAlgorithm way{Algorithm::kRing, Protocol::kLl, 1, 0};
  comm::CommOperation operation;
  std::uint64_t sum = 0;
  const double nothing = best([&](int i) { sum += static_cast<std::uint64_t>(i); });
  const double clock = best([&](int) { sum += comm::readTicks(); });
  const double entry = best([&](int i) {
    operation.count = static_cast<std::size_t>(i);
    flight.begin(recorder);
    flight.add(operation, comm::packPath(way));
    flight.start();
    flight.end(false);
  });
  const double atOnce = best([&](int i) {
    operation.count = static_cast<std::size_t>(i);
    recorder.addDone({&operation, 1}, comm::kDirectPath);
  });
  std::printf(
      "loop   %5.1f ns\nclock  %5.1f ns\nentry  %5.1f ns, of which three readings of the clock %5.1f ns\n"
      "at once %4.1f ns\n",
      nothing, clock - nothing, entry - nothing, 3 * (clock - nothing), atOnce - nothing);
  if (sum == 1) std::puts("");  // keeps the compiler from removing the sum
}

}  // namespace
}  // namespace xylem

int main() { xylem::run(); }
