#include "planner/tuning/exclusion.h"

#include "planner/tuning/measured.h"

namespace xylem::tuning {
namespace {

// Compute capabilities on which 128-byte stores are known to stay whole; on others LL128 could read torn
// data.
constexpr std::array<int, 5> kLl128Sms = {70, 80, 90, 100, 120};

bool offers(Algorithm algorithm, Collective collective) {
  switch (algorithm) {
    case Algorithm::kRing:
      return true;
    case Algorithm::kTree:
    case Algorithm::kCollnetChain:
    case Algorithm::kNvlsTree:
      return collective == Collective::kAllReduce;
    case Algorithm::kNvls:
    case Algorithm::kCollnetDirect:
      return gathersOrScatters(collective) || collective == Collective::kAllReduce;
    case Algorithm::kPat:
      return gathersOrScatters(collective);
  }
  return false;
}

bool speaks(Algorithm algorithm, Protocol protocol) {
  return protocol == Protocol::kSimple || algorithm == Algorithm::kTree || algorithm == Algorithm::kRing;
}

Exclusion excludedPat(const TuningInput& input, const TuningOptions& options) {
  if (input.lowestSm < input.rules->patSm) return Exclusion::kPatOldGpus;
  if (options.pat == 0) return Exclusion::kPatDisabled;
  return options.pat == 2 && input.ranks != input.nodes ? Exclusion::kPatUnfit : Exclusion::kNone;
}

// A network that reduces can also gather and scatter if every GPU has a NIC.
Exclusion excludedCollnetGather(const TuningInput& input) {
  // By newer rules on every node, by older ones on average.
  const float ranks =
      input.rules->collnetGathersByNic ? static_cast<float>(input.maxLocalRanks) : input.ranksPerNode();
  const bool enough = input.nodes == 1 || ranks <= static_cast<float>(input.collnetHeads);
  return enough ? Exclusion::kNone : Exclusion::kFewHeads;
}

Exclusion excludedByMachine(const TuningInput& input, Collective collective, Algorithm algorithm) {
  const bool throughNetwork = isCollnet(algorithm) || (algorithm == Algorithm::kNvls && input.nodes > 1);
  if (isNvls(algorithm) && !input.nvls) return Exclusion::kNoMulticast;
  if (algorithm == Algorithm::kNvlsTree && input.nodes == 1) return Exclusion::kOneNode;
  if (throughNetwork && !input.collnet) return Exclusion::kNoCollnet;
  if (algorithm == Algorithm::kCollnetDirect && !input.hasNvs && !input.hostDevices)
    return Exclusion::kNoNvSwitch;
  if (algorithm == Algorithm::kCollnetDirect && gathersOrScatters(collective))
    return excludedCollnetGather(input);
  if (algorithm == Algorithm::kNvls && gathersOrScatters(collective) && input.rules->nvlsGathersOverNodes)
    return excludedCollnetGather(input);
  if (algorithm == Algorithm::kCollnetChain && !input.collnetChains) return Exclusion::kChainsApart;
  return Exclusion::kNone;
}

Exclusion excludedLl128(const TuningInput& input, const TuningGraph& graph) {
  if (graph.typeInter > farthestLl128Net(input) ||
      (graph.typeInter == paths::PathType::kP2c && !input.rules->ll128OverC2c))
    return Exclusion::kLl128NetDistance;
  if (graph.typeIntra > paths::PathType::kNvb) return Exclusion::kLl128Distance;
  const bool mixMayDiffer = input.rules->ll128MixedSm90 && input.lowestSm >= measured::kHopperSm;
  if (input.lowestSm != input.highestSm && !mixMayDiffer) return Exclusion::kLl128MixedGpus;
  constexpr int kFirstLl128Sm = 70;
  if (input.rules->ll128EverySm)
    return input.lowestSm >= kFirstLl128Sm ? Exclusion::kNone : Exclusion::kLl128Architecture;
  for (const int sm : kLl128Sms)
    if (input.lowestSm == sm) return Exclusion::kNone;
  return Exclusion::kLl128Architecture;
}

}  // namespace

// From Hopper on, data may reach the NIC through another GPU.
paths::PathType farthestLl128Net(const TuningInput& input) {
  return input.lowestSm >= measured::kHopperSm && input.rules->ll128OverPxn ? paths::PathType::kPxn
                                                                            : paths::PathType::kPxb;
}

bool hasModel(const TuningInput& input, const TuningOptions& options, Collective collective,
              Algorithm algorithm, Protocol protocol) {
  if (input.ranks <= 1 || !offers(algorithm, collective)) return false;
  // NCCL's table has latencies of CollNet under all protocols, though it runs under Simple alone.
  if (!speaks(algorithm, protocol) && !isCollnet(algorithm)) return false;
  // By newer rules one head makes no NVLS, and the table has zeros.
  if (isNvls(algorithm) && input.rules->nvlsModel == rules::NvlsModel::kEfficiency && !input.hostDevices &&
      input.graph(search::GraphKind::kNvls).nChannels < 2)
    return false;
  return algorithm != Algorithm::kPat || excludedPat(input, options) == Exclusion::kNone;
}

Exclusion excludedByJob(const TuningInput& input, const TuningOptions& options, Collective collective,
                        Algorithm algorithm, Protocol protocol) {
  if (input.ranks <= 1) return Exclusion::kOneRank;
  if (!offers(algorithm, collective)) return Exclusion::kNotOffered;
  if (!speaks(algorithm, protocol)) return Exclusion::kSimpleOnly;
  if (algorithm == Algorithm::kPat)
    if (const Exclusion why = excludedPat(input, options); why != Exclusion::kNone) return why;
  if (const Exclusion why = excludedByMachine(input, collective, algorithm); why != Exclusion::kNone)
    return why;
  if (!options.algorithms[collective][algorithm]) return Exclusion::kAlgorithmList;
  const Enabled enabled = options.protocols[collective][protocol];
  if (enabled == Enabled::kNo) return Exclusion::kProtocolList;
  // Cores keep the order of stores, as the flags of LL128 need.
  return enabled == Enabled::kDecide && !input.hostDevices
             ? excludedLl128(input, input.graph(graphOf(algorithm)))
             : Exclusion::kNone;
}

}  // namespace xylem::tuning
