#pragma once
// A job: ranks over hosts, and the channel graphs each of them found on its host.
//
// Ranks of one host that reach each other only over the network form *domains*, and each plans for its own:
// `views` holds one entry per domain. All hosts are alike, so host h's rank h * n + i sees what rank i of the
// first host sees.

#include <vector>

#include "channels/channel_graph.h"

namespace xylem {

// What the ranks of one domain decided about their host.
struct RankView {
  const System* system = nullptr;
  const ChannelGraph* ring = nullptr;
  const ChannelGraph* tree = nullptr;
};

struct Job {
  int hosts = 1;
  int ranksPerHost = 0;
  std::vector<RankView> views;
  std::vector<int> viewOfLocalRank;  // by rank on the host: index into views

  int ranks() const { return hosts * ranksPerHost; }
  const RankView& view(int rank) const {
    return views[static_cast<std::size_t>(viewOfLocalRank[static_cast<std::size_t>(rank % ranksPerHost)])];
  }
  // The rank at a position of a channel, as `rank`'s host numbers it.
  int rankAt(const RankView& view, const ChannelGraph& graph, int channel, int position, int host) const {
    const NodeId gpu = view.system->node(NodeType::kGpu, graph.gpu(channel, position));
    return host * ranksPerHost + view.system->gpu(gpu).rank;
  }
};

}  // namespace xylem
