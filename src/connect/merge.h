#pragma once
// What all ranks agree on after exchanging their graphs: the least channels and bandwidth, the worst types.

#include "connect/job.h"

namespace xylem {

struct MergedGraph {
  int nChannels = 0;
  bool sameChannels = false;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel
  PathType typeIntra = PathType::kLoc, typeInter = PathType::kLoc;
  int crossNic = 0;
};

// `graph` picks the graph out of a view: &RankView::ring or &RankView::tree.
MergedGraph merge(const Job& job, const ChannelGraph* RankView::*graph);

}  // namespace xylem
