#include "runtime/collectives/algorithm.h"

#include "runtime/collectives/programs.h"

namespace xylem::collectives {
namespace {

std::span<const Program> ringPrograms(Collective collective) {
  switch (collective) {
    case Collective::kBroadcast:
      return {&kRingBroadcast, 1};
    case Collective::kReduce:
      return {&kRingReduce, 1};
    case Collective::kAllGather:
      return {&kRingAllGather, 1};
    case Collective::kReduceScatter:
      return {&kRingReduceScatter, 1};
    case Collective::kAllReduce:
      return {&kRingAllReduce, 1};
  }
  return {};
}

}  // namespace

std::span<const Program> programsOf(Collective collective, Algorithm algorithm) {
  static const std::array<Program, 2> kTreeAllReduce = {kTreeReduceUp, kTreeBroadcastDown};
  if (algorithm == Algorithm::kRing) return ringPrograms(collective);
  // A chain is a tree with one rank below each; its root is the network.
  if ((algorithm == Algorithm::kTree || algorithm == Algorithm::kCollnetChain) &&
      collective == Collective::kAllReduce)
    return kTreeAllReduce;
  if (algorithm == Algorithm::kPat && collective == Collective::kAllGather) return {&kPatAllGather, 1};
  if (algorithm == Algorithm::kPat && collective == Collective::kReduceScatter)
    return {&kPatReduceScatter, 1};
  return {};
}

std::size_t scratchOf(Collective collective, Algorithm algorithm, const Shape& shape) {
  if (algorithm == Algorithm::kPat && collective == Collective::kReduceScatter)
    return patReduceScatterScratch(shape);
  return 0;
}

}  // namespace xylem::collectives
