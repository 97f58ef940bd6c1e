#include <fmt/format.h>

#include "planner/tuning/algorithm_graph.h"
#include "planner/tuning/choice.h"

namespace xylem {
namespace {

std::string ll128Text(Exclusion why, const TuningGraph& graph, const TuningInput& input) {
  switch (why) {
    case Exclusion::kLl128Distance:
      return fmt::format("LL128 needs NVLink between the GPUs of a node: the path is {}",
                         name(graph.typeIntra));
    case Exclusion::kLl128NetDistance:
      return fmt::format("LL128 needs NICs near the GPUs: the path is {}, farther than {}",
                         name(graph.typeInter), name(farthestLl128Net(input)));
    case Exclusion::kLl128MixedGpus:
      return fmt::format("LL128 needs equal GPUs: compute capabilities reach from {} to {}", input.lowestSm,
                         input.highestSm);
    default:
      return fmt::format("LL128 is not for GPUs of compute capability {}", input.lowestSm);
  }
}

}  // namespace

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
      return fmt::format("{} needs NVLink multicast", algorithm);
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
      return fmt::format("{} serves up to {} ranks per node: there are {}", algorithm,
                         kMostCollnetDirectRanks, input.maxLocalRanks);
    case Exclusion::kNoProgram:
      return fmt::format("Xylem does not run {}, only plans it", algorithm);
    case Exclusion::kCollnetOperands:
      return fmt::format("CollNet does not do {} of {}", name(operation.reduction), name(operation.type));
    case Exclusion::kNvlsOperands:
      return fmt::format("NVLink multicast does not do {} of {}",
                         operation.scaled ? "scaled sum" : name(operation.reduction), name(operation.type));
    case Exclusion::kNvlsSpread:
      return fmt::format("{} does {} only on one node of up to {} ranks", algorithm,
                         name(operation.collective), kMostNvlsGatherRanks);
    case Exclusion::kPatScaling:
      return "PAT cannot scale while it scatters";
    case Exclusion::kTooSlow:
      return fmt::format("{}/{} would take an hour or more", algorithm, protocol);
  }
  return "";
}

}  // namespace xylem
