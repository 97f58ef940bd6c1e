#include "planner/tuning/block_size.h"

#include <algorithm>

namespace xylem::tuning {
namespace {

struct ThreadRange {
  int minimum;
  int maximum;
  int usual;
};
constexpr ThreadRange kThreads = {64, 512, 512};
constexpr ThreadRange kSlowRingThreads = {64, 512, 256};
constexpr ThreadRange kLl128Threads = {160, kMaxThreads, kMaxThreads};
// A ring with Simple is slow up to this many GB/s over all channels.
constexpr double kSlowRing = 12.0;

// Bytes per thread.
constexpr ByProtocol<std::int64_t> kThresholds = {8, 8, 64};
constexpr std::int64_t kCollnetSimpleThreshold = 512;

// Turns the number that the user wants into one that NCCL uses: 0 becomes the usual one, any other that
// cannot be used the maximum or the minimum.
int threads(int wanted, const ThreadRange& range) {
  if (wanted <= 0) return range.usual;
  if (wanted % kWarpThreads != 0 || wanted > range.maximum) return range.maximum;
  return wanted < range.minimum ? range.minimum : wanted;
}

constexpr int kMinThreads = 3 * kWarpThreads;
// Threads of Simple that synchronize instead of moving data: one warp for a ring, four for a tree.
constexpr int kRingSyncThreads = kWarpThreads;
constexpr int kTreeSyncThreads = 4 * kWarpThreads;
// Blocks are halved as long as their number of threads is a multiple of this.
constexpr int kHalvedThreads = 128;
// CollNetDirect gives up channels in stages; each stage halves the threshold once.
constexpr int kFirstStage = 16;

// Starts with all channels and threads, and takes away channels, then threads, until every thread has at
// least `threshold` bytes to move.
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

int maxThreads(const TuningInput& input, const TuningOptions& options, Algorithm algorithm,
               Protocol protocol) {
  const bool simple = protocol == Protocol::kSimple;
  if (isCollnet(algorithm) || isNvls(algorithm)) return simple ? kMaxThreads : 0;
  if (algorithm == Algorithm::kPat) return 0;
  if (protocol == Protocol::kLl128) return threads(options.ll128Threads, kLl128Threads);
  const TuningGraph& ring = input.graph(search::GraphKind::kRing);
  const bool slow = algorithm == Algorithm::kRing && simple &&
                    static_cast<double>(ring.bwIntra * static_cast<float>(ring.nChannels)) <= kSlowRing;
  return threads(options.threads, slow ? kSlowRingThreads : kThreads);
}

std::int64_t threadThreshold(const TuningInput& input, const TuningOptions& options, Algorithm algorithm,
                             Protocol protocol) {
  if (input.ranks <= 1) return 0;
  if (algorithm == Algorithm::kTree && options.treeThreshold[protocol])
    return *options.treeThreshold[protocol];
  if (algorithm == Algorithm::kRing && options.ringThreshold[protocol])
    return *options.ringThreshold[protocol];
  if (isCollnet(algorithm) && protocol == Protocol::kSimple) return kCollnetSimpleThreshold;
  const bool ringLl = algorithm == Algorithm::kRing && protocol == Protocol::kLl;
  return kThresholds[protocol] * (ringLl ? input.ranks : 1);
}

BlockSize blockSize(const TuningModel& model, std::uint64_t bytes, Algorithm algorithm, Protocol protocol) {
  const TuningInput& input = model.input;
  Shrinking size(bytes, input.nChannels, model.maxThreads[algorithm][protocol],
                 model.threadThreshold[algorithm][protocol]);
  int channels = input.nvlsChannels;
  if (!input.rules->nvlsAddsChannels && algorithm == Algorithm::kNvls && input.nodes > 1)
    channels = std::min(channels, input.nChannels);
  if (algorithm == Algorithm::kCollnetDirect) size.collnetDirect(input.collnetDirectHeads);
  if (!isNvls(algorithm)) {
    if (algorithm != Algorithm::kCollnetDirect) size.channelsThenThreads();
    channels = size.channels();
  }
  int threads = size.threads();
  if (protocol == Protocol::kSimple && algorithm == Algorithm::kRing) threads += kRingSyncThreads;
  if (protocol == Protocol::kSimple && algorithm == Algorithm::kTree) threads += kTreeSyncThreads;
  threads = std::max(threads, kMinThreads);
  if (algorithm == Algorithm::kTree || algorithm == Algorithm::kPat) threads = kMaxThreads;
  return {channels, threads / kWarpThreads};
}

}  // namespace xylem::tuning
