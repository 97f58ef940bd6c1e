#include <algorithm>

#include "insight/optimum/cut_bound.h"
#include "insight/optimum/host_program.h"
#include "insight/optimum/optimum.h"
#include "planner/paths/locality.h"

namespace xylem {
namespace {

// The cut is as good as the program if it is so close.
constexpr double kSame = 1e-6;
// Bottlenecks that matter: of the total.
constexpr double kLeastShare = 1e-6;

void addBottlenecks(Bound& bound, const Capacities& capacities, const std::vector<double>& prices) {
  for (int row = 0; row < capacities.rows(); ++row) {
    const double weight = prices[static_cast<std::size_t>(row)] * kWholeUnits;
    if (capacities.link(row) == kNoLink || weight * capacities.capacity(row) < kLeastShare * bound.program)
      continue;
    bound.bottlenecks.push_back({capacities.link(row), weight});
  }
  std::stable_sort(bound.bottlenecks.begin(), bound.bottlenecks.end(),
                   [](const Bottleneck& a, const Bottleneck& b) { return a.link < b.link; });
}

}  // namespace

Bound boundOf(const System& system, const PathTable& paths, Pattern pattern, int crossNic, bool program) {
  Bound bound;
  const int gpus = system.count(NodeType::kGpu);
  if (gpus == 0 || (gpus == 1 && system.count(NodeType::kNet) == 0)) return bound;
  if (gpus == 1 && pattern != Pattern::kRing) pattern = Pattern::kTree;
  if (const auto cut = smallestCut(system, pattern)) bound.cut = *cut;
  if (!program) {
    bound.bandwidth = bound.cut.bandwidth;
    bound.cutIsTight = true;
    return bound;
  }
  const Locality locality(system, paths);
  const SearchSpace space(system, paths, locality);
  HostProgram packed(space, {}, {pattern, crossNic, false});
  const Packing::Outcome outcome = packed.packing.solve(packed.fullRoom());
  bound.program = outcome.bound;
  bound.work = packed.packing.work();
  bound.cutIsTight = bound.cut.bandwidth <= bound.program * (1 + kSame);
  bound.bandwidth = bound.cutIsTight ? bound.cut.bandwidth : bound.program;
  if (!bound.cutIsTight) addBottlenecks(bound, packed.capacities, outcome.prices);
  return bound;
}

double totalBandwidth(const ChannelGraph& graph, bool nets) {
  const float each = nets ? std::min(graph.bwIntra, graph.bwInter) : graph.bwIntra;
  return static_cast<double>(graph.nChannels) * static_cast<double>(each);
}

}  // namespace xylem
