#pragma once
// The base search: for every endpoint the best path from everywhere to it, breadth first, widest among the
// shortest.

#include "paths/path_table.h"

namespace xylem {

// `allowNvb`: a GPU may relay between two others over NVLink (NCCL_NVB_DISABLE=0).
PathTable findPaths(const System& system, bool allowNvb);

}  // namespace xylem
