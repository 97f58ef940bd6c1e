// Measures how much faster helper threads make a rank's copies and reductions.
//
//   helper_speed [THREADS]        // default: one per core
//
// For each size, microseconds of a copy and of a float sum of two arrays: by the calling thread alone; with helpers that have just
// worked; and with helpers that sleep, as after a millisecond without work. Medians; the ratio is alone / shared. Small ones
// are not shared, and have 1.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "core/copying.h"
#include "runtime/collectives/shared_work.h"
#include "runtime/device/core_pair.h"
#include "runtime/device/host_device.h"

namespace xylem {
namespace {

using collectives::SharedWork;

constexpr std::size_t kKiB = 1024, kMost = std::size_t{64} << 20;
constexpr int kRounds = 31;

class Bench {
 public:
  explicit Bench(int threads)
      : alone_(nullptr),
        shared_(std::make_shared<device::Helpers>(threads - 1)),
        a_(kMost),
        b_(kMost),
        out_(kMost) {}

  void run(std::size_t bytes) {
    row("copy", bytes, [&](const SharedWork& work) {
      work.stretches(bytes, 1, [&](std::size_t begin, std::size_t end) {
        copyBytes(out_.data() + begin, a_.data() + begin, end - begin);
      });
    });
    row("sum", bytes, [&](const SharedWork& work) {
      const std::byte* const sources[] = {a_.data(), b_.data()};
      std::byte* const out = out_.data();
      work.combine(sum_, {sources, factors_}, {&out, 1}, bytes / sum_.elementBytes, false);
    });
  }

 private:
  template <typename Call>
  double medianOf(bool rests, Call&& call) {
    std::vector<double> times;
    for (int i = 0; i < kRounds; ++i) {
      if (rests) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto begin = std::chrono::steady_clock::now();
      call();
      times.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
    return times[kRounds / 2];
  }

  template <typename Call>
  void row(const char* what, std::size_t bytes, Call&& call) {
    const auto timeOf = [&](const SharedWork& work, bool rests) {
      return medianOf(rests, [&] { call(work); });
    };
    timeOf(alone_, false);
    const double alone = timeOf(alone_, false), awake = timeOf(shared_, false);
    const double aloneRested = timeOf(alone_, true), asleep = timeOf(shared_, true);
    std::printf("%-5s %9zu KiB  %9.1f  %9.1f %5.2f  %9.1f  %9.1f %5.2f\n", what, bytes / kKiB, alone, awake,
                alone / awake, aloneRested, asleep, aloneRested / asleep);
  }

  const SharedWork alone_, shared_;
  std::vector<std::byte> a_, b_, out_;
  const collectives::Reduction sum_ = collectives::chooseReduction(DataType::kFloat32, ReduceOp::kSum, 2);
  const collectives::Factor factors_[2]{};
};

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : xylem::device::coreCount();
  if (threads < 1 || threads > 64) {
    std::fprintf(stderr, "usage: helper_speed [THREADS]; THREADS is from 1 to 64\n");
    return 2;
  }
  std::printf("%s; %d threads; microseconds\n", xylem::device::processorText().c_str(), threads);
  std::printf("%-19s  %9s  %9s %5s  %9s  %9s %5s\n", "", "alone", "shared", "ratio", "rested", "shared",
              "ratio");
  xylem::Bench bench(threads);
  for (const std::size_t kib : {256, 512, 1024, 2048, 4096, 16384, 65536}) bench.run(kib * xylem::kKiB);
}
