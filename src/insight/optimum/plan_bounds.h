#pragma once
// The bandwidth of a plan's rings and trees on a kind of host, and the most that any could have.
//
//   for (const PlanBound& bound : boundsOf(plan, host)) bound.achieved, bound.bound.bandwidth

#include <optional>
#include <vector>

#include "insight/optimum/optimum.h"
#include "planner/plan/plan.h"

namespace xylem {

struct PlanBound {
  GraphKind kind = GraphKind::kRing;
  double achieved = 0;  // GB/s, of all channels together
  Bound bound;
};

// Of the channels of one graph, ring or tree; nothing where nothing limits them.
std::optional<PlanBound> boundOf(const Plan& plan, const HostPlan& host, GraphKind kind);
// Of rings and trees.
std::vector<PlanBound> boundsOf(const Plan& plan, const HostPlan& host);

}  // namespace xylem
