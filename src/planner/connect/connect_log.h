#pragma once
// NCCL's lines about one rank's connections: trees, CollNet, NVLS, rings, and how many channels there are.

#include <vector>

#include "planner/connect/connections.h"

namespace xylem {

std::vector<LogLine> connectLines(const Connections& connections, int rank);

// `16 coll channels, 16 collnet channels, 0 nvls channels, …`
LogLine channelCountLine(const Connections& connections, int rank);

}  // namespace xylem
