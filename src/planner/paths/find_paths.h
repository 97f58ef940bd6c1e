#pragma once
// The base search: for every endpoint the best path from everywhere to it, breadth first, widest among the
// shortest.

#include "planner/paths/path_table.h"

namespace xylem {

// `allowNvb`: a GPU may relay between two others over NVLink (NCCL_NVB_DISABLE=0).
PathTable findPaths(const System& system, bool allowNvb);
// Only to these; what the table says of others is that there is no path.
PathTable findPaths(const System& system, bool allowNvb, std::span<const NodeId> destinations);

}  // namespace xylem
