#include "planner/connect/heads.h"

#include <algorithm>

namespace xylem {

std::vector<int> headsOf(const ChannelGraph& graph, int channels) {
  std::vector<int> heads;
  for (int channel = 0; channel < channels; ++channel) {
    const int head = graph.gpu(channel, 0);
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
  }
  return heads;
}

std::vector<int> nvlsHeads(const RankView& view) {
  const ChannelGraph& graph = (*view.graphs)[GraphKind::kNvls];
  return headsOf(graph, graph.nChannels);
}

std::vector<int> collnetHeads(const RankView& view, const ByGraphKind<MergedGraph>& merged) {
  return headsOf((*view.graphs)[GraphKind::kCollnetDirect], merged[GraphKind::kCollnetDirect].nChannels);
}

}  // namespace xylem
