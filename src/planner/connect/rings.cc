#include "planner/connect/rings.h"

#include <fmt/format.h>

#include <algorithm>

namespace xylem::connect {
namespace {

const search::ChannelGraph& ringGraph(const RankView& view) {
  return (*view.graphs)[search::GraphKind::kRing];
}

// The channel whose chain a ring follows on a node. If rings cross NICs, neighbouring channels trade places
// on odd nodes, so that a ring enters a host by the same NIC by which it left the one before.
int channelOnNode(const Connections& c, int searched, int node) {
  if (!c.swapped || node % 2 == 0) return searched;
  if (c.rules().ringSwap == rules::RingSwap::kByHost) {
    const int first = c.nodes.firstRank[static_cast<std::size_t>(node)];
    if (ringGraph(c.job.view(first)).crossNic != 2) return searched;
  }
  return searched ^ 1;
}

// The rank at one end of a node's chain.
int chainEnd(const Connections& c, int node, int searched, bool last) {
  const int first = c.nodes.firstRank[static_cast<std::size_t>(node)];
  const RankView& view = c.job.view(first);
  const search::ChannelGraph& ring = ringGraph(view);
  return c.job.rankAt(c.job.hostOf(first), view, ring, channelOnNode(c, searched, node),
                      last ? ring.gpuCount - 1 : 0);
}

}  // namespace

std::vector<int> searchedRing(const Connections& c, int searched) {
  std::vector<int> ring;
  ring.reserve(static_cast<std::size_t>(c.job.ranks()));
  for (int node = 0; node < c.nodes.count(); ++node) {
    const int first = c.nodes.firstRank[static_cast<std::size_t>(node)];
    const int host = c.job.hostOf(first);
    const RankView& view = c.job.view(first);
    const search::ChannelGraph& graph = ringGraph(view);
    const int channel = channelOnNode(c, searched, node);
    for (int i = 0; i < graph.gpuCount; ++i) ring.push_back(c.job.rankAt(host, view, graph, channel, i));
  }
  std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), 0), ring.end());
  return ring;
}

std::vector<int> ringOf(const Connections& c, int channel) {
  return searchedRing(c, c.source(0, channel).searched);
}

RingNeighbours ringNeighbours(const Connections& c, int rank, int channel) {
  const int searched = c.source(rank, channel).searched;
  const int node = c.nodes.ofRank[static_cast<std::size_t>(rank)];
  const RankView& view = c.job.view(rank);
  const search::ChannelGraph& graph = ringGraph(view);
  const int host = c.job.hostOf(rank);
  const int mine = channelOnNode(c, searched, node);
  const auto at = [&](int position) { return c.job.rankAt(host, view, graph, mine, position); };
  int position = 0;
  while (at(position) != rank) ++position;
  const int nodes = c.nodes.count();
  return {
      position > 0 ? at(position - 1) : chainEnd(c, (node + nodes - 1) % nodes, searched, true),
      position + 1 < graph.gpuCount ? at(position + 1) : chainEnd(c, (node + 1) % nodes, searched, false)};
}

std::vector<LogLine> ringLines(const Connections& c) {
  constexpr std::size_t kMaxRingLine = 127;
  std::vector<LogLine> lines;
  const std::size_t width = std::to_string(c.job.ranks() - 1).size();
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    std::string text = fmt::format("Channel {:02d}/{:02d} :", channel, c.nChannels());
    for (int rank : ringOf(c, channel)) {
      text += fmt::format(" {:{}d}", rank, width);
      if (text.size() <= kMaxRingLine) continue;
      text.resize(kMaxRingLine - 3);
      text += "...";
      break;
    }
    lines.push_back({LogLevel::kInfo, Subsystem::kInit, std::move(text)});
  }
  return lines;
}

}  // namespace xylem::connect
