#include "planner/connect/collnet_nvls.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/connect/double_tree.h"

namespace xylem::connect {
namespace {

// NCCL prints the heads of this many nodes.
constexpr int kMaxNodesPrinted = 20;

// The first GPUs (indices) of the first `channels` channels of a graph, in channel order, each once.
std::vector<int> headsOf(const search::ChannelGraph& graph, int channels) {
  std::vector<int> heads;
  for (int channel = 0; channel < channels; ++channel) {
    const int head = graph.gpu(channel, 0);
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
  }
  return heads;
}

// The rank of a head of NVLS on a node.
int headOfNode(const Connections& c, int node, int head) {
  const int first = c.nodes.firstRank[static_cast<std::size_t>(node)];
  const RankView& view = c.job.view(first);
  return c.job.rankOfGpu(c.job.hostOf(first), view, nvlsHeads(view)[static_cast<std::size_t>(head)]);
}

// A head's links in a tree over nodes: to the same head of other nodes. The first slot of `down` stays free.
TreeLinks headTree(const Connections& c, int node, int tree, int head) {
  const TreePlace place = DoubleTree(c.nodes.count()).place(tree, node);
  const auto rankOf = [&](int other) { return other == kNoTreeNode ? -1 : headOfNode(c, other, head); };
  TreeLinks links;
  links.up = rankOf(place.parent);
  std::size_t slot = 1;
  for (int child : {rankOf(place.firstChild), rankOf(place.secondChild)})
    if (child >= 0) links.down[slot++] = child;
  return links;
}

}  // namespace

std::vector<int> nvlsHeads(const RankView& view) {
  const search::ChannelGraph& graph = (*view.graphs)[search::GraphKind::kNvls];
  return headsOf(graph, graph.nChannels);
}

std::vector<int> collnetHeads(const RankView& view, const search::ByGraphKind<MergedGraph>& merged) {
  return headsOf((*view.graphs)[search::GraphKind::kCollnetDirect],
                 merged[search::GraphKind::kCollnetDirect].nChannels);
}

std::vector<int> collnetHeadRanks(const Connections& c, int node) {
  const auto ofNode = [&](int n) {
    const int first = c.nodes.firstRank[static_cast<std::size_t>(n)];
    std::vector<int> heads;
    for (const int gpu : collnetHeads(c.job.view(first), c.merged))
      heads.push_back(c.job.rankOfGpu(c.job.hostOf(first), c.job.view(first), gpu));
    return heads;
  };
  std::vector<int> heads = ofNode(node);
  for (int other = 0; other < c.nodes.count(); ++other)
    heads.resize(std::min(heads.size(), ofNode(other).size()));
  return heads;
}

std::vector<int> nvlsHeadRanks(const Connections& c, int node) {
  std::vector<int> heads;
  for (int head = 0; head < c.nvlsHeads; ++head) heads.push_back(headOfNode(c, node, head));
  return heads;
}

int headDevice(const Connections& c, int head, search::GraphKind kind) {
  const RankView& view = c.job.view(head);
  const search::ChannelGraph& graph = (*view.graphs)[kind];
  for (int channel = 0; channel < graph.nChannels; ++channel) {
    if (c.job.rankAt(c.job.hostOf(head), view, graph, channel, 0) != head) continue;
    const int net = graph.startNet(channel);
    return net < 0 ? 0 : view.system->net(view.system->node(topology::NodeType::kNet, net)).dev;
  }
  return 0;
}

CollnetChain collnetChainOf(const Connections& c, int rank, int channel) {
  const RankView& view = c.job.view(rank);
  const search::ChannelGraph& chain = (*view.graphs)[search::GraphKind::kCollnetChain];
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
    const search::ChannelGraph& chain = (*view.graphs)[search::GraphKind::kCollnetChain];
    const int searched = c.source(rank, channel).searched;
    if (searched >= chain.nChannels) return {};
    heads.push_back(c.job.rankAt(c.job.hostOf(rank), view, chain, searched, 0));
  }
  return heads;
}

int collnetChainDevice(const Connections& c, int head, int channel) {
  const RankView& view = c.job.view(head);
  const int net = (*view.graphs)[search::GraphKind::kCollnetChain].startNet(c.source(head, channel).searched);
  return net < 0 ? 0 : view.system->net(view.system->node(topology::NodeType::kNet, net)).dev;
}

// A head receives from all ranks of its host (`down`) and sends to the network (`out`); every rank sends to
// all heads but itself (`up`). `shift` makes the ranks of a host start at different heads.
CollnetDirect collnetDirectOf(const Connections& c, int rank) {
  const RankView& view = c.job.view(rank);
  const int host = c.job.hostOf(rank);
  CollnetDirect direct;
  if (c.rules().collnetDirectToEight && c.nodes.maxLocalRanks > kMaxCollnetRanks) {
    direct.depth = 0;
    return direct;
  }
  std::vector<int> heads;
  for (int gpu : collnetHeads(view, c.merged)) heads.push_back(c.job.rankOfGpu(host, view, gpu));
  const auto count = static_cast<int>(heads.size());
  const search::ChannelGraph& graph = (*view.graphs)[search::GraphKind::kCollnetDirect];
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

// A rank can be the head of several channels: its headRank is the last of them, and its trees are those of
// the first, as in NCCL.
NvlsLinks nvlsOf(const Connections& c, int rank) {
  const int node = c.nodes.ofRank[static_cast<std::size_t>(rank)];
  NvlsLinks links;
  int firstOwned = -1;
  for (int head = 0; head < c.nvlsHeads; ++head) {
    if (headOfNode(c, node, head) != rank) continue;
    links.headRank = head;
    if (firstOwned < 0) firstOwned = head;
  }
  links.down = c.job.ranks() + 1 + links.headRank;
  if (c.collnet && links.headRank >= 0) links.out = c.job.ranks();
  if (c.nodes.count() == 1) return links;
  for (int tree = 0; tree < 2; ++tree) {
    TreeLinks& of = links.trees[static_cast<std::size_t>(tree)];
    if (firstOwned >= 0) of = headTree(c, node, tree, firstOwned);
    of.down[0] = links.down;
  }
  return links;
}

std::vector<LogLine> nvlsHeadLines(const Connections& c) {
  std::vector<LogLine> lines;
  if (c.nodes.count() == 1) return lines;
  for (int head = 0; head < c.nvlsHeads; ++head) {
    std::string text = fmt::format("NVLS Head {:2d}:", head);
    for (int node = 0; node < std::min(c.nodes.count(), kMaxNodesPrinted); ++node)
      text += fmt::format(" {:2d}", headOfNode(c, node, head));
    lines.push_back({LogLevel::kInfo, Subsystem::kGraph, std::move(text)});
  }
  return lines;
}

}  // namespace xylem::connect
