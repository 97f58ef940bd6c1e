#include "insight/preflight/transfer.h"

#include <algorithm>

namespace xylem::preflight {
namespace {

// NCCL's defaults of P2P_LL_THRESHOLD and the three P2P_*_CHUNKSIZE, in bytes.
constexpr std::uint64_t kLlBytesPerChannel = 16384;
constexpr std::int64_t kNetChunk = 131072;
constexpr std::int64_t kNvlinkChunk = 524288;
constexpr std::int64_t kPciChunk = 131072;
constexpr std::int64_t kSteps = 8;  // per buffer
// The smallest part is a step divided by these; the largest one inside a node is a step times
// kMaxStepsInside.
constexpr std::int64_t kMinShareAcross = 2, kMinShareInside = 8;
constexpr std::int64_t kMaxStepsInside = 32;

struct Parts {
  std::uint64_t least = 1, most = 1;  // bytes of a part
  int few = 1;                        // number of parts, unless they would exceed `most` bytes
};

std::int64_t stepOf(const TransferInput& input, Protocol protocol) {
  if (protocol == Protocol::kLl) return input.llBufferBytes / kSteps;
  const std::int64_t inside = input.allNvlink ? kNvlinkChunk : kPciChunk;
  return std::min(input.nodes > 1 ? kNetChunk : inside, input.simpleBufferBytes / kSteps);
}

Parts partsOf(const TransferInput& input, Protocol protocol) {
  const std::int64_t step = stepOf(input, protocol);
  Parts parts;
  parts.least = static_cast<std::uint64_t>(
      std::max<std::int64_t>(1, step / (input.nodes > 1 ? kMinShareAcross : kMinShareInside)));
  parts.most =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, input.nodes > 1 ? step : step * kMaxStepsInside));
  parts.few = input.perPeer;
  while (static_cast<std::int64_t>(parts.few) * input.ranks > input.channels && parts.few > 1) parts.few /= 2;
  return parts;
}

std::uint64_t longestLl(const TransferInput& input) {
  return static_cast<std::uint64_t>(input.perPeer) * kLlBytesPerChannel;
}

std::uint64_t dividedUp(std::uint64_t value, std::uint64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

TransferSplit transferSplit(const TransferInput& input, std::uint64_t bytes) {
  TransferSplit split;
  split.protocol = bytes <= longestLl(input) ? Protocol::kLl : Protocol::kSimple;
  split.channels = input.channels;
  const Parts parts = partsOf(input, split.protocol);
  split.parts = static_cast<int>(std::min<std::uint64_t>(
      static_cast<std::uint64_t>(parts.few), std::max<std::uint64_t>(1, dividedUp(bytes, parts.least))));
  while (dividedUp(bytes, static_cast<std::uint64_t>(split.parts)) > parts.most &&
         split.parts <= input.perPeer / 2)
    split.parts *= 2;
  return split;
}

std::vector<std::uint64_t> transferBounds(const TransferInput& input) {
  std::vector<std::uint64_t> bounds = {1, longestLl(input) + 1};
  for (Protocol protocol : {Protocol::kLl, Protocol::kSimple}) {
    const Parts parts = partsOf(input, protocol);
    for (int count = 1; count <= parts.few; ++count)
      bounds.push_back(static_cast<std::uint64_t>(count) * parts.least + 1);
    for (int count = 1; count <= input.perPeer; ++count)
      bounds.push_back(static_cast<std::uint64_t>(count) * parts.most + 1);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

}  // namespace xylem::preflight
