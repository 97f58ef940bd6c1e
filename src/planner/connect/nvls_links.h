#pragma once
// Connections through the NVSwitches' own reduction (NVLS): inside a host every rank talks to the heads, and
// the heads of all hosts form trees.

#include <array>

#include "planner/connect/connections.h"
#include "planner/connect/trees.h"

namespace xylem {

struct NvlsLinks {
  int headRank = -1;  // which head this rank is
  // NVLS's own ends are numbered after all ranks: nRanks + 1 + head.
  int down = 0;
  int out = -1;  // at heads, if the network reduces: the number of ranks, which stands for the network
  // Trees of heads over nodes, for even and for odd channels. The first slot down is the node's own.
  std::array<TreeLinks, 2> trees;
};

NvlsLinks nvlsOf(const Connections& connections, int rank);

// NCCL's lines on node 0: `NVLS Head  0:  0  8` per head.
std::vector<LogLine> nvlsHeadLines(const Connections& connections);

}  // namespace xylem
