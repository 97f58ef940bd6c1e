#include "planner/tuning/p2p_split.h"

#include <algorithm>
#include <bit>

#include "core/settings.h"
#include "planner/tuning/chunk_size.h"
#include "planner/tuning/measured.h"
#include "planner/tuning/steps.h"

namespace xylem::tuning {
namespace {

// Parts begin at multiples of this many bytes.
constexpr std::uint64_t kPartGrain = 4096;
// The most parts of a step, across nodes and inside a node, and the most steps of a part inside a node.
constexpr int kPartsPerStepAcross = 2;
constexpr int kPartsPerStepInside = 8;
constexpr int kStepsPerPartInside = 32;
// The work descriptor keeps this many leading bits of a chunk's size.
constexpr int kKeptBits = 4;

std::int64_t toKeptBits(std::int64_t value) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(value));
  if (bits <= kKeptBits) return value;
  const int dropped = bits - kKeptBits;
  return value >> dropped << dropped;
}

std::int64_t stepOf(const P2pJob& job, Protocol protocol) {
  return protocol == Protocol::kSimple ? job.stepBytes : job.llBufferBytes / kBufferSteps;
}

std::int64_t chunkOf(const P2pJob& job, const P2pTransfer& transfer, Protocol protocol) {
  const std::int64_t step = stepOf(job, protocol);
  if (job.chunkOverride > 0) return job.chunkOverride;
  if (!transfer.overNetwork) return step;
  // A short message goes in smaller chunks, so that the network works on several at once.
  const bool simple = protocol == Protocol::kSimple;
  if (simple && transfer.bytes < static_cast<std::uint64_t>(step)) return step / 4;
  return transfer.bytes < static_cast<std::uint64_t>(kBufferSteps * step) ? step / 2 : step;
}

// Starts with the usual number of channels, fewer if a part would fall below its minimum, and doubles them
// while parts are larger than their maximum.
int channelsOf(const P2pJob& job, std::uint64_t bytes, std::int64_t stepBytes) {
  if (bytes == 0) return 1;
  int usual = job.channelsPerPeer;
  while (static_cast<std::int64_t>(usual) * job.ranks > job.channels && usual > 1) usual /= 2;
  const auto step = static_cast<std::uint64_t>(stepBytes);
  const bool across = job.nodes > 1;
  const std::uint64_t least = step / (across ? kPartsPerStepAcross : kPartsPerStepInside);
  const std::uint64_t most = across ? step : step * kStepsPerPartInside;
  int channels =
      static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(usual), divideUp(bytes, least)));
  std::uint64_t part = std::max(least, divideUp(bytes, static_cast<std::uint64_t>(channels)));
  while (part > most && channels <= job.channelsPerPeer / 2) {
    channels *= 2;
    part = divideUp(bytes, static_cast<std::uint64_t>(channels));
  }
  return channels;
}

}  // namespace

P2pJob P2pJob::from(const Settings& settings, int ranks, int nodes, bool allNvlink,
                    const TuningInput& input) {
  const Setting chunk = nodes > 1   ? Setting::kP2pNetChunkSize
                        : allNvlink ? Setting::kP2pNvlChunkSize
                                    : Setting::kP2pPciChunkSize;
  P2pJob job{.ranks = ranks, .nodes = nodes};
  const bool wide = nodes > 1 && input.rules->wideP2pStepsOnArm && input.arch == topology::CpuArch::kArm &&
                    input.lowestSm >= measured::kBlackwellSm;
  job.stepBytes =
      std::min(settings.integer(chunk) * (wide ? 2 : 1), settings.integer(Setting::kBuffSize) / kBufferSteps);
  job.llByChannels = input.rules->llP2pByChannels;
  job.llBufferBytes = settings.integer(Setting::kLlBuffSize);
  job.llThreshold = settings.integer(Setting::kP2pLlThreshold);
  job.chunkOverride = settings.integer(Setting::kChunkSize);
  return job;
}

P2pSplit splitP2p(const P2pJob& job, const P2pTransfer& transfer) {
  // By newer rules the channels are those of Simple, and they decide.
  const int simpleChannels = channelsOf(job, transfer.bytes, stepOf(job, Protocol::kSimple));
  const auto most =
      static_cast<std::uint64_t>((job.llByChannels ? simpleChannels : job.channelsPerPeer) * job.llThreshold);
  P2pSplit split;
  const bool ll = !transfer.toSelf && transfer.hasLl && transfer.bytes <= most;
  split.protocol = ll ? Protocol::kLl : Protocol::kSimple;
  split.bytes = transfer.bytes;
  split.channels =
      job.llByChannels ? simpleChannels : channelsOf(job, transfer.bytes, stepOf(job, split.protocol));
  split.partBytes =
      divideUp(divideUp(transfer.bytes, static_cast<std::uint64_t>(split.channels)), kPartGrain) * kPartGrain;
  split.chunkBytes = chunkOf(job, transfer, split.protocol);
  split.dataBytes = toKeptBits(ll ? split.chunkBytes / 2 : split.chunkBytes);
  return split;
}

P2pSplit::Range P2pSplit::part(int index) const {
  const std::uint64_t begin = std::min(static_cast<std::uint64_t>(index) * partBytes, bytes);
  return {begin, std::min(begin + partBytes, bytes)};
}

}  // namespace xylem::tuning
