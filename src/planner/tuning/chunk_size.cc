#include "planner/tuning/chunk_size.h"

#include <algorithm>

#include "planner/tuning/steps.h"

namespace xylem::tuning {
namespace {

constexpr ByProtocol<std::int64_t> kGrains = {16, 1920, 512};  // bytes
// Flags take half of LL's buffer, and one of sixteen parts of LL128's.
constexpr int kLlShare = 2;
constexpr int kLl128Parts = 16;
constexpr int kLl128DataParts = 15;
// Slots that a chunk and a slice of a ring with Simple take, except for Broadcast and Reduce.
constexpr int kRingChunkSteps = 4;
constexpr int kRingSliceSteps = 2;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMaxCollnetChain = 256 * kKiB;
constexpr std::int64_t kMinPat = 64 * kKiB;
// NVLS across nodes with less bandwidth than this (GB/s) gets small chunks.
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

// Starts with the largest chunk that the buffer holds and makes it smaller, by halves or by NCCL's fixed
// sizes, until the operation has enough rounds of chunks to keep a pipeline of the algorithm's depth full.
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
        while (each(size_) * (gather ? 32 : 16) > request_.bytes && size_ > kMinPat) size_ /= 2;
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

  // Bytes of one chunk on every channel.
  std::uint64_t each(std::int64_t chunk) const { return channels_ * static_cast<std::uint64_t>(chunk); }
  std::uint64_t rounds(int heads = 1) const {
    return request_.bytes / (each(size_) * static_cast<std::uint64_t>(std::max(heads, 1)));
  }

  // Halves the chunk until there are `minRounds` rounds or the chunk has `minBytes`.
  void halve(std::uint64_t minRounds, std::int64_t minBytes, int heads = 1) {
    while (rounds(heads) < minRounds && size_ > minBytes) size_ /= 2;
  }

  void collnetDirect() {
    const TuningInput& input = model_.input;
    const int heads = input.collnetDirectHeads;
    const std::uint64_t depth = heads <= 1 && input.maxLocalRanks <= 1 ? 1 : 2;
    halve(depth * 64, 128 * kKiB, heads);
    halve(depth * 8, 64 * kKiB, heads);
    halve(depth * 8, 32 * kKiB, heads);
  }

  void collnetChain() {
    const auto depth = static_cast<std::uint64_t>(model_.input.ranks / model_.input.nodes);
    size_ = std::min(kMaxCollnetChain, stepBytes(Protocol::kSimple) * ringStepsOf(request_).chunk);
    halve(depth * 64, 128 * kKiB);
    halve(depth * 8, 64 * kKiB);
    halve(depth, 32 * kKiB);
  }

  // Lowers the chunk to `size` bytes if the operation has fewer than `chunks` chunks per head and channel.
  void lower(std::uint64_t chunks, std::int64_t size) {
    const std::uint64_t heads = static_cast<std::uint64_t>(model_.input.nvlsHeads);
    if (request_.bytes < chunks * heads * each(size_) && size_ > size) size_ = size;
  }

  void nvls() {
    const float bandwidth = model_.bandwidth[Collective::kAllReduce][Algorithm::kNvls][Protocol::kSimple];
    const bool slow = model_.input.nodes > 1 && bandwidth < kFastNvls;
    size_ = std::min(size_, slow ? kSlowNvlsChunk : nvlsChunk());
    lower(64, 64 * kKiB);
    lower(8, 32 * kKiB);
    lower(2, 16 * kKiB);
  }

  std::int64_t nvlsChunk() const {
    const int chosen = model_.input.nvlsChunkBytes;
    return chosen > 0 ? chosen : model_.options.nvlsChunkBytes;
  }

  void nvlsTree() {
    size_ = nvlsChunk();
    if (model_.input.nvlsTreeChunkBytes > 0)
      size_ = std::min<std::int64_t>(size_, model_.input.nvlsTreeChunkBytes);
    else if (model_.options.nvlsTreeMaxChunkBytes)
      size_ = std::min(size_, *model_.options.nvlsTreeMaxChunkBytes);
    else if (model_.input.nodes >= kManyNodes)
      size_ = std::min(size_, kNvlsTreeChunkOfManyNodes);
    lower(32, 256 * kKiB);
    lower(16, 128 * kKiB);
    lower(4, 64 * kKiB);
    lower(1, 32 * kKiB);
  }

  // Data passes a node's ranks and the levels of the tree: the more of them, the more chunks keep all busy.
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

// One loop of a channel over the data: `steps` messages to the next rank, `chunks` chunks of data.
struct LoopShape {
  std::int64_t steps = 1;
  std::int64_t chunks = 1;
};

LoopShape loopShape(const TuningInput& input, const ChunkRequest& request) {
  const bool ring = request.algorithm == Algorithm::kRing;
  if (ring && (gathersOrScatters(request.collective) || request.collective == Collective::kAllReduce))
    return {ringSteps(request.collective, input.ranks), input.ranks};
  if (isNvls(request.algorithm)) return {1, input.nvlsHeads};
  if (request.algorithm == Algorithm::kCollnetDirect) return {1, input.collnetDirectHeads};
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

}  // namespace xylem::tuning
