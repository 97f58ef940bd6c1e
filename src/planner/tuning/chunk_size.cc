#include "planner/tuning/chunk_size.h"

#include <algorithm>

#include "planner/tuning/log2.h"
#include "planner/tuning/steps.h"

namespace xylem {
namespace {

constexpr ByProtocol<std::int64_t> kGrains = {16, 1920, 512};
// LL spends half of its buffer on flags, LL128 one part of sixteen.
constexpr int kLlShare = 2;
constexpr int kLl128Parts = 16;
constexpr int kLl128DataParts = 15;
// Steps of the buffer that a chunk and a slice of a ring take, where data goes round in several steps.
constexpr int kRingChunkSteps = 4;
constexpr int kRingSliceSteps = 2;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMostCollnetChain = 256 * kKiB;
constexpr std::int64_t kLeastPat = 64 * kKiB;
// NVLS across nodes with less than this (GB/s) wants small chunks.
constexpr float kFastNvls = 150;
constexpr std::int64_t kSlowNvlsChunk = 32 * kKiB;
constexpr std::int64_t kNvlsTreeChunkOfManyNodes = 64 * kKiB;
constexpr int kManyNodes = 4;

struct RingSteps {
  int chunk = 1;
  int slice = 1;
};

RingSteps ringStepsOf(const ChunkRequest& request) {
  const bool several = request.collective == Collective::kAllReduce || gathersOrScatters(request.collective);
  const bool ring = request.algorithm == Algorithm::kRing && request.protocol == Protocol::kSimple;
  return ring && several ? RingSteps{kRingChunkSteps, kRingSliceSteps} : RingSteps{};
}

class Chunk {
 public:
  Chunk(const TuningModel& model, const ChunkRequest& request)
      : model_(model),
        request_(request),
        channels_(static_cast<std::uint64_t>(std::max(request.channels, 1))),
        size_(stepBytes(request.protocol) * ringStepsOf(request).chunk) {
    if (request.protocol == Protocol::kLl) size_ /= kLlShare;
    if (request.protocol == Protocol::kLl128) size_ = size_ / kLl128Parts * kLl128DataParts;
  }

  std::int64_t bytes() {
    const bool gather = request_.collective == Collective::kAllGather;
    switch (request_.algorithm) {
      case Algorithm::kCollnetDirect:
        collnetDirect();
        break;
      case Algorithm::kCollnetChain:
        collnetChain();
        break;
      case Algorithm::kNvls:
        nvls();
        break;
      case Algorithm::kNvlsTree:
        nvlsTree();
        break;
      case Algorithm::kTree:
        if (request_.protocol == Protocol::kLl128) treeLl128();
        break;
      case Algorithm::kPat:
        while (each(size_) * (gather ? 32 : 16) > request_.bytes && size_ > kLeastPat) size_ /= 2;
        break;
      case Algorithm::kRing:
        break;
    }
    const std::int64_t grain = kGrains[request_.protocol];
    return size_ / grain * grain;
  }

 private:
  std::int64_t stepBytes(Protocol protocol) const {
    return model_.options.bufferBytes[protocol] / kBufferSteps;
  }

  // Of one chunk on every channel.
  std::uint64_t each(std::int64_t chunk) const { return channels_ * static_cast<std::uint64_t>(chunk); }
  std::uint64_t rounds(int heads = 1) const {
    return request_.bytes / (each(size_) * static_cast<std::uint64_t>(std::max(heads, 1)));
  }

  void halve(std::uint64_t leastRounds, std::int64_t least, int heads = 1) {
    while (rounds(heads) < leastRounds && size_ > least) size_ /= 2;
  }

  void collnetDirect() {
    const TuningInput& input = model_.input;
    const int heads = input.collnetHeads;
    const std::uint64_t depth = heads <= 1 && input.maxLocalRanks <= 1 ? 1 : 2;
    halve(depth * 64, 128 * kKiB, heads);
    halve(depth * 8, 64 * kKiB, heads);
    halve(depth * 8, 32 * kKiB, heads);
  }

  void collnetChain() {
    const auto depth = static_cast<std::uint64_t>(model_.input.ranks / model_.input.nodes);
    size_ = std::min(kMostCollnetChain, stepBytes(Protocol::kSimple) * ringStepsOf(request_).chunk);
    halve(depth * 64, 128 * kKiB);
    halve(depth * 8, 64 * kKiB);
    halve(depth, 32 * kKiB);
  }

  // With less than so many chunks per head and channel, this size does.
  void lower(std::uint64_t chunks, std::int64_t size) {
    const std::uint64_t heads = static_cast<std::uint64_t>(model_.input.nvlsHeads);
    if (request_.bytes < chunks * heads * each(size_) && size_ > size) size_ = size;
  }

  void nvls() {
    const float bandwidth = model_.bandwidth[Collective::kAllReduce][Algorithm::kNvls][Protocol::kSimple];
    const bool slow = model_.input.nodes > 1 && bandwidth < kFastNvls;
    size_ = std::min(size_, slow ? kSlowNvlsChunk : model_.options.nvlsChunkBytes);
    lower(64, 64 * kKiB);
    lower(8, 32 * kKiB);
    lower(2, 16 * kKiB);
  }

  void nvlsTree() {
    size_ = model_.options.nvlsChunkBytes;
    if (model_.options.nvlsTreeMaxChunkBytes)
      size_ = std::min(size_, *model_.options.nvlsTreeMaxChunkBytes);
    else if (model_.input.nodes >= kManyNodes)
      size_ = std::min(size_, kNvlsTreeChunkOfManyNodes);
    lower(32, 256 * kKiB);
    lower(16, 128 * kKiB);
    lower(4, 64 * kKiB);
    lower(1, 32 * kKiB);
  }

  void treeLl128() {
    const float ranks = model_.input.ranksPerNode();
    const int levels = log2Floor(static_cast<std::uint64_t>(model_.input.nodes));
    const auto steps = static_cast<float>(1 + levels + 0.1 * ranks);
    while (static_cast<float>(rounds()) < steps * 64 / ranks && size_ > 128 * kKiB) size_ /= 2;
    while (static_cast<float>(rounds()) < steps * 16 / ranks && size_ > 32 * kKiB) size_ /= 2;
  }

  const TuningModel& model_;
  const ChunkRequest& request_;
  std::uint64_t channels_;
  std::int64_t size_;
};

// How often a loop over the data passes a rank, and into how many chunks it cuts the data.
struct LoopShape {
  std::int64_t steps = 1;
  std::int64_t chunks = 1;
};

LoopShape loopShape(const TuningInput& input, const ChunkRequest& request) {
  const bool ring = request.algorithm == Algorithm::kRing;
  if (ring && (gathersOrScatters(request.collective) || request.collective == Collective::kAllReduce))
    return {ringSteps(request.collective, input.ranks), input.ranks};
  if (isNvls(request.algorithm)) return {1, input.nvlsHeads};
  if (request.algorithm == Algorithm::kCollnetDirect) return {1, input.collnetHeads};
  return {};
}

}  // namespace

std::int64_t chunkBytes(const TuningModel& model, const ChunkRequest& request) {
  return Chunk(model, request).bytes();
}

ProxySteps proxySteps(const TuningModel& model, const ChunkRequest& request) {
  const std::int64_t chunk = chunkBytes(model, request);
  const LoopShape shape = loopShape(model.input, request);
  const RingSteps steps = ringStepsOf(request);
  const std::int64_t loop = std::max<std::int64_t>(request.channels * shape.chunks * chunk, 1);
  const auto loops = (static_cast<std::int64_t>(request.bytes) + loop - 1) / loop;
  return {shape.steps * loops * steps.chunk, chunk, chunk / steps.chunk * steps.slice};
}

}  // namespace xylem
