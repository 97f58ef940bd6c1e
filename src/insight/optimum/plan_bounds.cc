#include "insight/optimum/plan_bounds.h"

namespace xylem {
namespace {

// With more GPUs the program takes long; the cut remains.
constexpr int kMostForProgram = 16;

}  // namespace

std::optional<PlanBound> boundOf(const Plan& plan, const HostPlan& host, GraphKind kind) {
  const ChannelGraph& graph = host.graphs[kind];
  const bool program = host.system().count(NodeType::kGpu) <= kMostForProgram;
  Bound bound =
      boundOf(host.system(), host.paths.paths, graph.pattern, plan.connections.options.crossNic, program);
  if (bound.bandwidth <= 0) return std::nullopt;
  const bool nets = host.system().count(NodeType::kNet) > 0;
  return PlanBound{kind, totalBandwidth(graph, nets), std::move(bound)};
}

std::vector<PlanBound> boundsOf(const Plan& plan, const HostPlan& host) {
  std::vector<PlanBound> bounds;
  for (const GraphKind kind : {GraphKind::kRing, GraphKind::kTree})
    if (auto bound = boundOf(plan, host, kind)) bounds.push_back(std::move(*bound));
  return bounds;
}

}  // namespace xylem
