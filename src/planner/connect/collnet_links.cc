#include "planner/connect/collnet_links.h"

#include <algorithm>

#include "planner/connect/heads.h"

namespace xylem {

CollnetChain collnetChainOf(const Connections& c, int rank, int channel) {
  const RankView& view = c.job.view(rank);
  const ChannelGraph& chain = (*view.graphs)[GraphKind::kCollnetChain];
  const int searched = c.source(rank, channel).searched;
  if (searched >= chain.nChannels) return {};
  const int host = c.job.hostOf(rank);
  const auto at = [&](int position) { return c.job.rankAt(host, view, chain, searched, position); };
  int position = 0;
  while (at(position) != rank) ++position;
  return {position > 0 ? at(position - 1) : c.job.ranks(),
          position + 1 < chain.gpuCount ? at(position + 1) : -1};
}

std::vector<int> collnetChainHeads(const Connections& c, int channel) {
  std::vector<int> heads;
  for (const int rank : c.nodes.firstRank) {
    const RankView& view = c.job.view(rank);
    const ChannelGraph& chain = (*view.graphs)[GraphKind::kCollnetChain];
    const int searched = c.source(rank, channel).searched;
    if (searched >= chain.nChannels) return {};
    heads.push_back(c.job.rankAt(c.job.hostOf(rank), view, chain, searched, 0));
  }
  return heads;
}

int collnetChainDevice(const Connections& c, int head, int channel) {
  const RankView& view = c.job.view(head);
  const int net = (*view.graphs)[GraphKind::kCollnetChain].startNet(c.source(head, channel).searched);
  return net < 0 ? 0 : view.system->net(view.system->node(NodeType::kNet, net)).dev;
}

CollnetDirect collnetDirectOf(const Connections& c, int rank) {
  const RankView& view = c.job.view(rank);
  const int host = c.job.hostOf(rank);
  std::vector<int> heads;
  for (int gpu : collnetHeads(view, c.merged)) heads.push_back(c.job.rankOfGpu(host, view, gpu));
  const auto count = static_cast<int>(heads.size());
  CollnetDirect direct;
  const ChannelGraph& graph = (*view.graphs)[GraphKind::kCollnetDirect];
  for (int h = 0; h < count; ++h) {
    if (heads[static_cast<std::size_t>(h)] != rank) {
      direct.up.push_back(heads[static_cast<std::size_t>(h)]);
      continue;
    }
    direct.headRank = h;
    direct.out = c.job.ranks();
    for (int i = 0; i < graph.gpuCount; ++i) {
      const int other = c.job.rankAt(host, view, graph, h, i);
      if (other != rank) direct.down.push_back(other);
    }
  }
  for (int i = 0; i < count; ++i)
    direct.heads.push_back(heads[static_cast<std::size_t>((i + std::max(direct.headRank, 0)) % count)]);
  const int localRanks =
      static_cast<int>(c.nodes.ranks(c.nodes.ofRank[static_cast<std::size_t>(rank)]).size());
  if (count > 0) direct.shift = rank % localRanks % count;
  direct.depth = direct.up.empty() && direct.down.empty() ? 1 : 2;
  return direct;
}

}  // namespace xylem
