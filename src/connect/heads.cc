#include "connect/heads.h"

#include <algorithm>

namespace xylem {

std::vector<int> headsOf(const RankView& view, GraphKind kind) {
  const ChannelGraph& graph = (*view.graphs)[kind];
  std::vector<int> heads;
  for (int channel = 0; channel < graph.nChannels; ++channel) {
    const int head = graph.gpu(channel, 0);
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
  }
  return heads;
}

}  // namespace xylem
