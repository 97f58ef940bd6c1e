#pragma once
// NCCL's log lines about one rank's connections: trees, CollNet, NVLS, rings, and the numbers of channels.
//
//   for (const LogLine& line : connectLines(connections, rank)) ...   // `Ring 00 : 3 -> 0 -> 1`, …

#include <vector>

#include "planner/connect/connections.h"

namespace xylem::connect {

std::vector<LogLine> connectLines(const Connections& connections, int rank);

// `16 coll channels, 16 collnet channels, 0 nvls channels, …`
LogLine channelCountLine(const Connections& connections, int rank);

}  // namespace xylem::connect
