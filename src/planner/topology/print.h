#pragma once
// NCCL's log lines about the machine: each CPU with the tree of devices below it.
//
//   for (const LogLine& line : systemLines(system, 48, 96)) ...   // `CPU/0-0 (1/1/2)`, …

#include <vector>

#include "core/log.h"
#include "planner/topology/system.h"

namespace xylem::topology {

// The bandwidths, in GB/s, go into the first line.
std::vector<LogLine> systemLines(const System& system, float maxBandwidth, float totalBandwidth,
                                 const RankNames& names = {});

}  // namespace xylem::topology
