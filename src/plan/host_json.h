#pragma once
// The `host` section of a plan's JSON: the graph, its paths, who reaches whom, and the channels.

#include "plan/json_value.h"
#include "plan/plan.h"

namespace xylem {

Json hostJson(const HostPlan& host, const ReachOptions& options);

}  // namespace xylem
