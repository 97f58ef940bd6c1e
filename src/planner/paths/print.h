#pragma once
// NCCL's printed form of the paths: one line per GPU and NET with hops, bandwidth and type to every endpoint.

#include <vector>

#include "core/log.h"
#include "planner/paths/path_table.h"

namespace xylem {

std::vector<LogLine> pathLines(const System& system, const PathTable& paths);

}  // namespace xylem
