#pragma once
// Which hosts of a job stand near each other in a fabric.

#include <vector>

#include "planner/connect/job.h"
#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/sites.h"
#include "insight/fabric/traffic.h"

namespace xylem {

// By site: its kind of place. Sites of one kind are of the same shape and plugged into the same switches at
// the same speeds, so that they can change places without any effect. Kinds are numbered by their first site.
std::vector<int> kindsOfSites(const Sites& sites, const FabricGraph& network, const Job& job,
                              const Traffic& traffic);

// The sites, each kind together, each kind followed by the nearest that is left: leaf by leaf, pod by pod.
std::vector<int> orderByLocality(const Sites& sites, FabricGraph& network, const std::vector<int>& kindOf,
                                 const Traffic& traffic);

}  // namespace xylem
