#pragma once
// GPUs that the rest of the machine cannot tell apart: each hangs on one and the same node that is no GPU, by
// the same links. Nothing passes through such a GPU, so what is found for one holds for all. The host devices
// of a NUMA node are of this kind.

#include <vector>

#include "planner/topology/system.h"

namespace xylem {

// All GPUs, in groups of those that are alike; groups come in the order of their first GPUs.
std::vector<std::vector<NodeId>> alikeGpus(const System& system);

}  // namespace xylem
