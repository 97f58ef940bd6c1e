#include "planner/tuning/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/tuning/block_size.h"
#include "planner/tuning/measured.h"
#include "planner/tuning/steps.h"

namespace xylem::tuning {

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

namespace {

// 8-bit floats lose too much precision if many ranks of a ring add to a sum one after the other.
constexpr int kMaxSmallFloatRingRanks = 8;
constexpr float kSmallFloatRingPenalty = 1024;
constexpr float kBytesPerMicrosecondAtOneGBs = 1000;

bool isSmallFloat(DataType type) { return type == DataType::kFloat8e4m3 || type == DataType::kFloat8e5m2; }

// AllGather and Broadcast only move data: NCCL treats them as bytes.
DataType typeOf(const Operation& operation) {
  const bool moves =
      operation.collective == Collective::kAllGather || operation.collective == Collective::kBroadcast;
  return moves ? DataType::kUint8 : operation.type;
}

Exclusion excludedNvls(const TuningInput& input, const Operation& operation, Algorithm algorithm) {
  if (operation.collective != Collective::kAllGather && !nvlsReduces(operation))
    return Exclusion::kNvlsOperands;
  if (input.rules->nvlsGathersOverNodes && operation.collective != Collective::kAllReduce &&
      input.maxLocalRanks > kMaxNvlsGatherRanks)
    return Exclusion::kNvlsSpread;
  if (algorithm != Algorithm::kNvls) return Exclusion::kNone;
  if (input.nodes > 1 && !operation.collnetWorks) return Exclusion::kCollnetOperands;
  if (!input.rules->nvlsGathersOverNodes && gathersOrScatters(operation.collective) &&
      (input.nodes > 1 || input.ranks > kMaxNvlsGatherRanks))
    return Exclusion::kNvlsSpread;
  return Exclusion::kNone;
}

Exclusion excludedByOperation(const TuningInput& input, const Operation& operation, Algorithm algorithm) {
  if (isCollnet(algorithm) && !operation.collnetWorks) return Exclusion::kCollnetOperands;
  if (algorithm == Algorithm::kCollnetDirect && !operation.collnetDirect) return Exclusion::kNoProgram;
  if (algorithm == Algorithm::kCollnetDirect && input.maxLocalRanks > kMaxCollnetDirectRanks)
    return Exclusion::kManyLocalRanks;
  if (algorithm == Algorithm::kCollnetChain && input.rules->collnetDirectToEight &&
      input.maxLocalRanks > kMaxCollnetDirectRanks)
    return Exclusion::kManyLocalRanks;
  if (isNvls(algorithm)) return excludedNvls(input, operation, algorithm);
  const bool scales = operation.scaled || operation.reduction == ReduceOp::kAvg;
  if (algorithm == Algorithm::kPat && operation.collective == Collective::kReduceScatter && scales)
    return Exclusion::kPatScaling;
  return Exclusion::kNone;
}

// Predicts the candidate's time, or finds the reason that excludes it: the model's, then the operation's.
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
  // Excludes NaN, too.
  if (!(candidate.time >= 0 && candidate.time < model.input.rules->slowestTime))
    candidate.excluded = Exclusion::kTooSlow;
  return candidate;
}

std::string ll128Text(Exclusion why, const TuningGraph& graph, const TuningInput& input) {
  switch (why) {
    case Exclusion::kLl128Distance:
      return fmt::format("LL128 needs NVLink between the GPUs of a node: the path is {}",
                         paths::name(graph.typeIntra));
    case Exclusion::kLl128NetDistance:
      return fmt::format("LL128 needs NICs near the GPUs: the path is {}, farther than {}",
                         paths::name(graph.typeInter), paths::name(farthestLl128Net(input)));
    case Exclusion::kLl128MixedGpus:
      return fmt::format("LL128 needs equal GPUs: compute capabilities reach from {} to {}", input.lowestSm,
                         input.highestSm);
    default:
      return fmt::format("LL128 is not for GPUs of compute capability {}", input.lowestSm);
  }
}

}  // namespace

// Latency plus bytes by bandwidth, with NCCL's corrections: Tree reaches a part of its bandwidth that depends
// on the size, a ring across nodes reaches its plateau late, and a group of operations pays its latency
// several times.
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
  if (allReduce && algorithm == Algorithm::kNvlsTree && input.rules->nvlsTreeCorrected &&
      input.lowestSm >= measured::kBlackwellSm && input.arch == topology::CpuArch::kX86) {
    // One size more than Tree has, as the last of those.
    const int size = log2Floor(operation.bytes >> measured::kFirstCorrectedSizeLog2);
    const auto last = measured::kCorrectedSizes - 1;
    if (size >= 0 && size <= static_cast<int>(measured::kCorrectedSizes))
      bandwidth *= measured::kTreeCorrection[protocol][std::min(static_cast<std::size_t>(size), last)];
  }
  const int channels = std::max(input.nChannels, 1);
  const auto parts = static_cast<std::uint64_t>(channels) * static_cast<std::uint64_t>(input.ranks);
  if (allReduce && ring && protocol == Protocol::kSimple && input.nodes > 1 && !input.hostDevices &&
      operation.bytes / parts >= measured::kPlateauBytes)
    latency =
        static_cast<float>(latency * (input.lowestSm < measured::kAmpereSm ? measured::kPlateauBeforeAmpere
                                                                           : measured::kPlateauFromAmpere));
  const int operations = divideUp(operation.aggregated, channels);
  // A channel starts several operations of a group at a time, except those of rings.
  const int starts = ring ? operations : divideUp(operations, input.rules->operationsPerBatch);
  const float time = latency * static_cast<float>(starts) +
                     static_cast<float>(operation.bytes) / (kBytesPerMicrosecondAtOneGBs * bandwidth);
  const bool imprecise = ring && isSmallFloat(typeOf(operation)) && input.ranks > kMaxSmallFloatRingRanks;
  return imprecise ? time * kSmallFloatRingPenalty : time;
}

Choice choose(const TuningModel& model, const Operation& operation) {
  Choice choice{.operation = operation};
  choice.ranking.reserve(kAllAlgorithms.size() * kAllProtocols.size());
  for (const Algorithm a : kAllAlgorithms)
    for (const Protocol p : kAllProtocols) choice.ranking.push_back(judge(model, operation, a, p));
  // Stable sorting: of equal candidates the first one in NCCL's order wins.
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

std::string explain(const Candidate& candidate, const Operation& operation, const TuningModel& model) {
  const TuningInput& input = model.input;
  const TuningGraph& graph = input.graph(graphOf(candidate.algorithm));
  const char* algorithm = name(candidate.algorithm);
  const char* protocol = name(candidate.protocol);
  switch (candidate.excluded) {
    case Exclusion::kNone:
      return fmt::format("{}/{} takes {:.1f} us", algorithm, protocol, candidate.time);
    case Exclusion::kOneRank:
      return "a rank alone only copies";
    case Exclusion::kNotOffered:
      return fmt::format("{} does not do {}", algorithm, name(operation.collective));
    case Exclusion::kSimpleOnly:
      return fmt::format("{} knows only the protocol Simple", algorithm);
    case Exclusion::kPatUnfit:
      return fmt::format("PAT needs one rank per node: there are {} on {} (NCCL_PAT_ENABLE)", input.ranks,
                         input.nodes);
    case Exclusion::kPatDisabled:
      return "NCCL_PAT_ENABLE=0";
    case Exclusion::kPatOldGpus:
      return fmt::format("PAT needs GPUs of compute capability {} or more", input.rules->patSm);
    case Exclusion::kChainsApart:
      return "CollNetChain needs chains that start at the GPUs with a connection to the network";
    case Exclusion::kOneNode:
      return fmt::format("{} needs more than one node", algorithm);
    case Exclusion::kNoCollnet:
      return fmt::format("{} needs CollNet{}", algorithm, input.nodes > 1 ? " between nodes" : "");
    case Exclusion::kNoNvSwitch:
      return fmt::format("{} needs an NVSwitch", algorithm);
    case Exclusion::kFewHeads:
      return fmt::format("{} needs a NIC per GPU for {}: {:.1f} ranks per node share {}", algorithm,
                         name(operation.collective), input.ranksPerNode(), input.collnetHeads);
    case Exclusion::kNoMulticast:
      return fmt::format("{} needs NVLink multicast on all hosts of the job", algorithm);
    case Exclusion::kNoChannels:
      return fmt::format("no channels with bandwidth were found for {}", algorithm);
    case Exclusion::kAlgorithmList:
      return fmt::format("NCCL_ALGO={} leaves out {}", model.options.algorithmList, algorithm);
    case Exclusion::kProtocolList:
      return fmt::format("NCCL_PROTO={} leaves out {}", model.options.protocolList, protocol);
    case Exclusion::kLl128Distance:
    case Exclusion::kLl128NetDistance:
    case Exclusion::kLl128MixedGpus:
    case Exclusion::kLl128Architecture:
      return ll128Text(candidate.excluded, graph, input);
    case Exclusion::kManyLocalRanks:
      return fmt::format("{} serves up to {} ranks per node: there are {}", algorithm, kMaxCollnetDirectRanks,
                         input.maxLocalRanks);
    case Exclusion::kNoProgram:
      return fmt::format("Xylem does not run {}, only plans it", algorithm);
    case Exclusion::kCollnetOperands:
      return fmt::format("CollNet does not do {} of {}", name(operation.reduction), name(operation.type));
    case Exclusion::kNvlsOperands:
      return fmt::format("NVLink multicast does not do {} of {}",
                         operation.scaled ? "scaled sum" : name(operation.reduction), name(operation.type));
    case Exclusion::kNvlsSpread:
      return fmt::format("{} does {} only on one node of up to {} ranks", algorithm,
                         name(operation.collective), kMaxNvlsGatherRanks);
    case Exclusion::kPatScaling:
      return "PAT cannot scale while it scatters";
    case Exclusion::kTooSlow:
      return fmt::format("{}/{} would take an hour or more", algorithm, protocol);
  }
  return "";
}

std::vector<std::string> exclusionReasons(const Choice& choice, const TuningModel& model) {
  std::vector<std::string> reasons;
  for (const Candidate& candidate : choice.ranking) {
    if (candidate.excluded == Exclusion::kNone || candidate.excluded == Exclusion::kOneRank ||
        candidate.excluded == Exclusion::kNotOffered || candidate.excluded == Exclusion::kSimpleOnly)
      continue;
    std::string reason = explain(candidate, choice.operation, model);
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  return reasons;
}

}  // namespace xylem::tuning
