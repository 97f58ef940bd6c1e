#pragma once
// What all ranks agree on after exchanging their graphs: the least channels and bandwidth, the worst types.

#include "planner/connect/job.h"

namespace xylem {

struct MergedGraph {
  int nChannels = 0;
  bool sameChannels = false;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel
  PathType typeIntra = PathType::kLoc, typeInter = PathType::kLoc;
  int crossNic = 0;
};

ByGraphKind<MergedGraph> mergeGraphs(const Job& job);

}  // namespace xylem
