#pragma once
// NCCL's printed form of the machine: each CPU with what hangs below it, one LogLine per line.

#include <vector>

#include "core/log.h"
#include "planner/topology/rank_names.h"
#include "planner/topology/system.h"

namespace xylem {

// Bandwidths in GB/s, for the head line.
std::vector<LogLine> systemLines(const System& system, float maxBandwidth, float totalBandwidth,
                                 const RankNames& names = {});

}  // namespace xylem
