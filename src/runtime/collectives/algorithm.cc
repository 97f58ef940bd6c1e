#include "runtime/collectives/algorithm.h"

#include "runtime/collectives/programs.h"

namespace xylem::collectives {
namespace {

std::span<const Program> ringPrograms(Function function) {
  switch (function) {
    case Function::kBroadcast:
      return {&kRingBroadcast, 1};
    case Function::kReduce:
      return {&kRingReduce, 1};
    case Function::kAllGather:
      return {&kRingAllGather, 1};
    case Function::kReduceScatter:
      return {&kRingReduceScatter, 1};
    case Function::kAllReduce:
      return {&kRingAllReduce, 1};
    case Function::kSend:
    case Function::kRecv:
    case Function::kAlltoAll:
      break;  // no programs: each is made of single messages
  }
  return {};
}

std::span<const Program> starPrograms(Function function) {
  static const std::array<Program, 4> kAllReduce = {kStarContribute, kStarReduce, kStarPass, kStarCollect};
  static const std::array<Program, 3> kAllGather = {kStarGatherSend, kStarGatherPass, kStarGatherCollect};
  static const std::array<Program, 3> kReduceScatter = {kStarScatterContribute, kStarScatterReduce,
                                                        kStarScatterKeep};
  switch (function) {
    case Function::kAllReduce:
      return kAllReduce;
    case Function::kAllGather:
      return kAllGather;
    case Function::kReduceScatter:
      return kReduceScatter;
    default:
      return {};
  }
}

}  // namespace

std::span<const Program> programsOf(Function function, Algorithm algorithm) {
  static const std::array<Program, 2> kTreeAllReduce = {kTreeReduceUp, kTreeBroadcastDown};
  if (algorithm == Algorithm::kRing) return ringPrograms(function);
  // A chain is a tree with one rank below each; its root is the network.
  if ((algorithm == Algorithm::kTree || algorithm == Algorithm::kCollnetChain) &&
      function == Function::kAllReduce)
    return kTreeAllReduce;
  if (isStar(algorithm)) return starPrograms(function);
  if (algorithm == Algorithm::kPat && function == Function::kAllGather) return {&kPatAllGather, 1};
  if (algorithm == Algorithm::kPat && function == Function::kReduceScatter) return {&kPatReduceScatter, 1};
  return {};
}

std::size_t scratchOf(Function function, Algorithm algorithm, const Shape& shape) {
  if (algorithm == Algorithm::kPat && function == Function::kReduceScatter) return pat::scatterScratch(shape);
  return 0;
}

}  // namespace xylem::collectives
