#include "connect/merge.h"

#include <algorithm>

namespace xylem {

MergedGraph merge(const Job& job, const ChannelGraph* RankView::*graph) {
  const ChannelGraph& first = *(job.views.front().*graph);
  MergedGraph merged{first.nChannels, first.sameChannels, first.bwIntra, first.bwInter,
                     first.typeIntra, first.typeInter,    first.crossNic};
  for (const RankView& view : job.views) {
    const ChannelGraph& other = *(view.*graph);
    merged.nChannels = std::min(merged.nChannels, other.nChannels);
    merged.sameChannels = merged.sameChannels && other.sameChannels;
    merged.bwIntra = std::min(merged.bwIntra, other.bwIntra);
    merged.bwInter = std::min(merged.bwInter, other.bwInter);
    merged.typeIntra = std::max(merged.typeIntra, other.typeIntra);
    merged.typeInter = std::max(merged.typeInter, other.typeInter);
    merged.crossNic = std::max(merged.crossNic, other.crossNic);
  }
  return merged;
}

}  // namespace xylem
