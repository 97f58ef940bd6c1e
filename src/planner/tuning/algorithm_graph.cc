#include "planner/tuning/algorithm_graph.h"

namespace xylem {

GraphKind graphOf(Algorithm algorithm) {
  constexpr ByAlgorithm<GraphKind> kGraphs = {
      GraphKind::kTree, GraphKind::kRing, GraphKind::kCollnetDirect, GraphKind::kCollnetChain,
      GraphKind::kNvls, GraphKind::kNvls, GraphKind::kTree};
  return kGraphs[algorithm];
}

}  // namespace xylem
