#include "planner/connect/merge.h"

#include <algorithm>

namespace xylem {
namespace {

MergedGraph merge(const Job& job, GraphKind kind) {
  const ChannelGraph& first = (*job.views.front().graphs)[kind];
  MergedGraph merged{first.nChannels, first.sameChannels, first.bwIntra, first.bwInter,
                     first.typeIntra, first.typeInter,    first.crossNic};
  for (const RankView& view : job.views) {
    const ChannelGraph& other = (*view.graphs)[kind];
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

}  // namespace

ByGraphKind<MergedGraph> mergeGraphs(const Job& job) {
  ByGraphKind<MergedGraph> merged;
  for (GraphKind kind : kAllGraphKinds) merged[kind] = merge(job, kind);
  // Rings and trees share their channels.
  MergedGraph& ring = merged[GraphKind::kRing];
  MergedGraph& tree = merged[GraphKind::kTree];
  ring.nChannels = tree.nChannels = std::min(ring.nChannels, tree.nChannels);
  return merged;
}

}  // namespace xylem
