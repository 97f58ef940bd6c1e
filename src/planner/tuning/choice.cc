#include "planner/tuning/choice.h"

#include <algorithm>

#include "planner/tuning/block_size.h"
#include "planner/tuning/log2.h"
#include "planner/tuning/measured.h"
#include "planner/tuning/quotient.h"

namespace xylem {
namespace {

// 8-bit floats lose too much when many ranks add up one after the other.
constexpr int kMostSmallFloatRingRanks = 8;
constexpr float kSmallFloatRingPenalty = 1024;
// Operations that one launch of a channel takes at a time.
constexpr int kOperationsPerBatch = 10;
constexpr float kBytesPerMicrosecondAtOneGBs = 1000;

bool isSmallFloat(DataType type) { return type == DataType::kFloat8e4m3 || type == DataType::kFloat8e5m2; }

// AllGather and Broadcast only move data: NCCL treats them as bytes.
DataType typeOf(const Operation& operation) {
  const bool moves =
      operation.collective == Collective::kAllGather || operation.collective == Collective::kBroadcast;
  return moves ? DataType::kUint8 : operation.type;
}

bool nvlsReduces(const Operation& operation) {
  if (operation.scaled) return false;
  switch (operation.type) {
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return operation.reduction == ReduceOp::kSum || operation.reduction == ReduceOp::kMin ||
             operation.reduction == ReduceOp::kMax;
    case DataType::kFloat32:
    case DataType::kFloat64:
      return operation.reduction == ReduceOp::kSum;
    default:
      return false;
  }
}

Exclusion excludedNvls(const TuningInput& input, const Operation& operation, Algorithm algorithm) {
  if (operation.collective != Collective::kAllGather && !nvlsReduces(operation))
    return Exclusion::kNvlsOperands;
  if (algorithm != Algorithm::kNvls) return Exclusion::kNone;
  if (input.nodes > 1 && !operation.collnetWorks) return Exclusion::kCollnetOperands;
  if (gathersOrScatters(operation.collective) && (input.nodes > 1 || input.ranks > kMostNvlsGatherRanks))
    return Exclusion::kNvlsSpread;
  return Exclusion::kNone;
}

Exclusion excludedByOperation(const TuningInput& input, const Operation& operation, Algorithm algorithm) {
  if (isCollnet(algorithm) && !operation.collnetWorks) return Exclusion::kCollnetOperands;
  if (algorithm == Algorithm::kCollnetDirect && !operation.collnetDirect) return Exclusion::kNoProgram;
  if (algorithm == Algorithm::kCollnetDirect && input.maxLocalRanks > kMostCollnetDirectRanks)
    return Exclusion::kManyLocalRanks;
  if (isNvls(algorithm)) return excludedNvls(input, operation, algorithm);
  const bool scales = operation.scaled || operation.reduction == ReduceOp::kAvg;
  if (algorithm == Algorithm::kPat && operation.collective == Collective::kReduceScatter && scales)
    return Exclusion::kPatScaling;
  return Exclusion::kNone;
}

Candidate judge(const TuningModel& model, const Operation& operation, Algorithm algorithm,
                Protocol protocol) {
  Candidate candidate{algorithm, protocol};
  if (model.input.ranks == 1) {
    const bool copies = algorithm == Algorithm::kRing && protocol == Protocol::kSimple;
    candidate.excluded = copies ? Exclusion::kNone : Exclusion::kOneRank;
    return candidate;
  }
  candidate.excluded = model.excluded[operation.collective][algorithm][protocol];
  if (candidate.excluded == Exclusion::kNone)
    candidate.excluded = excludedByOperation(model.input, operation, algorithm);
  if (candidate.excluded != Exclusion::kNone) return candidate;
  candidate.time = predictedTime(model, operation, algorithm, protocol);
  // Also what is no number.
  if (!(candidate.time >= 0 && candidate.time < kSlowestTime)) candidate.excluded = Exclusion::kTooSlow;
  return candidate;
}

}  // namespace

float predictedTime(const TuningModel& model, const Operation& operation, Algorithm algorithm,
                    Protocol protocol) {
  const TuningInput& input = model.input;
  float bandwidth = model.bandwidth[operation.collective][algorithm][protocol];
  float latency = model.latency[operation.collective][algorithm][protocol];
  const bool allReduce = operation.collective == Collective::kAllReduce;
  const bool ring = algorithm == Algorithm::kRing;
  if (allReduce && algorithm == Algorithm::kTree && !input.hostDevices) {
    const int size = log2Floor(operation.bytes >> measured::kFirstCorrectedSizeLog2);
    if (size >= 0 && size < static_cast<int>(measured::kCorrectedSizes))
      bandwidth *= measured::kTreeCorrection[protocol][static_cast<std::size_t>(size)];
  }
  const int channels = std::max(input.nChannels, 1);
  const auto parts = static_cast<std::uint64_t>(channels) * static_cast<std::uint64_t>(input.ranks);
  if (allReduce && ring && protocol == Protocol::kSimple && input.nodes > 1 && !input.hostDevices &&
      operation.bytes / parts >= measured::kPlateauBytes)
    latency =
        static_cast<float>(latency * (input.lowestSm < measured::kAmpereSm ? measured::kPlateauBeforeAmpere
                                                                           : measured::kPlateauFromAmpere));
  const int operations = roundedUp(operation.aggregated, channels);
  const int starts = ring ? operations : roundedUp(operations, kOperationsPerBatch);
  const float time = latency * static_cast<float>(starts) +
                     static_cast<float>(operation.bytes) / (kBytesPerMicrosecondAtOneGBs * bandwidth);
  const bool imprecise = ring && isSmallFloat(typeOf(operation)) && input.ranks > kMostSmallFloatRingRanks;
  return imprecise ? time * kSmallFloatRingPenalty : time;
}

Choice choose(const TuningModel& model, const Operation& operation) {
  Choice choice{.operation = operation};
  choice.ranking.reserve(kAllAlgorithms.size() * kAllProtocols.size());
  for (const Algorithm a : kAllAlgorithms)
    for (const Protocol p : kAllProtocols) choice.ranking.push_back(judge(model, operation, a, p));
  // Stable: of equals the first in NCCL's order wins.
  const auto end = std::stable_partition(choice.ranking.begin(), choice.ranking.end(),
                                         [](const Candidate& c) { return c.excluded == Exclusion::kNone; });
  std::stable_sort(choice.ranking.begin(), end,
                   [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
  choice.usable = static_cast<int>(end - choice.ranking.begin());
  if (const Candidate* best = choice.best()) {
    const BlockSize size = blockSize(model, operation.bytes, best->algorithm, best->protocol);
    choice.channels = size.channels;
    choice.warps = size.warps;
  }
  return choice;
}

std::vector<std::uint64_t> choiceSizes() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 8; bytes <= std::uint64_t{8} << 30; bytes *= 8) sizes.push_back(bytes);
  return sizes;
}

}  // namespace xylem
