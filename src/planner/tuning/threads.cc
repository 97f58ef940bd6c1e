#include "planner/tuning/threads.h"

namespace xylem {
namespace {

struct ThreadRange {
  int minimum;
  int maximum;
  int usual;
};
constexpr ThreadRange kThreads = {64, 512, 512};
constexpr ThreadRange kSlowRingThreads = {64, 512, 256};
constexpr ThreadRange kLl128Threads = {160, kMostThreads, kMostThreads};
// GB/s of all channels up to which a ring with Simple is slow.
constexpr double kSlowRing = 12.0;

constexpr ByProtocol<std::int64_t> kThresholds = {8, 8, 64};
constexpr std::int64_t kCollnetSimpleThreshold = 512;

// What NCCL makes of a wish: a nonsensical one becomes the nearest sensible.
int threads(int wanted, const ThreadRange& range) {
  if (wanted <= 0) return range.usual;
  if (wanted % kWarpThreads != 0 || wanted > range.maximum) return range.maximum;
  return wanted < range.minimum ? range.minimum : wanted;
}

}  // namespace

int maxThreads(const TuningInput& input, const TuningOptions& options, Algorithm algorithm,
               Protocol protocol) {
  const bool simple = protocol == Protocol::kSimple;
  if (isCollnet(algorithm) || isNvls(algorithm)) return simple ? kMostThreads : 0;
  if (algorithm == Algorithm::kPat) return 0;
  if (protocol == Protocol::kLl128) return threads(options.ll128Threads, kLl128Threads);
  const TuningGraph& ring = input.graph(GraphKind::kRing);
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

}  // namespace xylem
