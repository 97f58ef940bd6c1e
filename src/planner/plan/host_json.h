#pragma once
// The `host` section of a plan's JSON: the graph, its paths, who reaches whom, and the channels.

#include "planner/plan/json_value.h"
#include "planner/plan/plan.h"

namespace xylem {

// `hostNumber`: the host of the job whose ranks it names.
Json hostJson(const HostPlan& host, const Plan& plan, int hostNumber);

// Its first parts, for whoever has a graph but no plan.
Json countsJson(const System& system);
Json nodesJson(const System& system);
Json linksJson(const System& system);
// From every GPU and NET to every GPU, NET, CPU and NVSwitch that can be reached.
Json pathsJson(const System& system, const PathTable& paths);

}  // namespace xylem
