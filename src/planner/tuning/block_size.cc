#include "planner/tuning/block_size.h"

#include <algorithm>

#include "planner/tuning/threads.h"

namespace xylem {
namespace {

constexpr int kLeastThreads = 3 * kWarpThreads;
// Threads beside those that move data: one warp of a ring, four of trees.
constexpr int kRingSyncThreads = kWarpThreads;
constexpr int kTreeSyncThreads = 4 * kWarpThreads;
// Blocks are halved while what is left is a whole number of these.
constexpr int kHalvedThreads = 128;
// CollNetDirect gives up channels in stages, at each of them lowering what a thread should have.
constexpr int kFirstStage = 16;

class Shrinking {
 public:
  Shrinking(std::uint64_t bytes, int channels, int threads, std::int64_t threshold)
      : bytes_(bytes), channels_(channels), threads_(threads), threshold_(threshold) {}

  void collnetDirect(int heads) {
    for (int stage = kFirstStage; stage >= 1; stage /= 2) {
      while (isTooMuch(heads) && channels_ > stage) {
        if (channels_ == stage + stage / 2) threshold_ /= 2;
        --channels_;
      }
      if (!isTooMuch(heads)) return;
    }
  }

  void channelsThenThreads() {
    while (isTooMuch(1) && channels_ >= 2) --channels_;
    while (isTooMuch(1) && threads_ % kHalvedThreads == 0) threads_ /= 2;
  }

  int channels() const { return channels_; }
  int threads() const { return threads_; }

 private:
  bool isTooMuch(int heads) const {
    return bytes_ < static_cast<std::uint64_t>(channels_) * static_cast<std::uint64_t>(threads_) *
                        static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(threshold_);
  }

  std::uint64_t bytes_;
  int channels_;
  int threads_;
  std::int64_t threshold_;
};

}  // namespace

BlockSize blockSize(const TuningModel& model, std::uint64_t bytes, Algorithm algorithm, Protocol protocol) {
  const TuningInput& input = model.input;
  Shrinking size(bytes, input.nChannels, model.maxThreads[algorithm][protocol],
                 model.threadThreshold[algorithm][protocol]);
  int channels = input.nvlsChannels;
  if (algorithm == Algorithm::kCollnetDirect) size.collnetDirect(input.collnetHeads);
  if (!isNvls(algorithm)) {
    if (algorithm != Algorithm::kCollnetDirect) size.channelsThenThreads();
    channels = size.channels();
  }
  int threads = size.threads();
  if (protocol == Protocol::kSimple && algorithm == Algorithm::kRing) threads += kRingSyncThreads;
  if (protocol == Protocol::kSimple && algorithm == Algorithm::kTree) threads += kTreeSyncThreads;
  threads = std::max(threads, kLeastThreads);
  if (algorithm == Algorithm::kTree || algorithm == Algorithm::kPat) threads = kMostThreads;
  return {channels, threads / kWarpThreads};
}

}  // namespace xylem
