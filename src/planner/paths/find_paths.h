#pragma once
// The base search: for every endpoint the best path from everywhere to it, breadth first. By the rules of most versions the
// best is the widest among the shortest, by those of the newest the one of the nearest type, then the widest.
//
//   PathTable paths = findPaths(system, /*allowNvb=*/true);
//   paths.path(gpu0, gpu1).type   ->   PathType::kNvl

#include <vector>

#include "planner/paths/path_table.h"

namespace xylem::paths {

// `allowNvb`: a GPU may relay between two others over NVLink (NCCL_NVB_DISABLE=0).
PathTable findPaths(const topology::System& system, bool allowNvb);
// Finds the paths to these destinations alone; the table has no paths to other nodes.
PathTable findPaths(const topology::System& system, bool allowNvb,
                    std::span<const topology::NodeId> destinations);

// All GPUs, in groups that the rest of the machine cannot tell apart; groups come in the order of their first
// GPUs. The GPUs of a group hang on one and the same node, which is no GPU, by the same links. Nothing passes
// through such a GPU, so the paths of one hold for all. The host devices of a NUMA node are of this kind.
std::vector<std::vector<topology::NodeId>> alikeGpus(const topology::System& system);

}  // namespace xylem::paths
