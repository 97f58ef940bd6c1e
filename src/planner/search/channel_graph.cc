#include "planner/search/channel_graph.h"

#include <fmt/format.h>

namespace xylem::search {

const char* name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kBalancedTree:
      return "BALANCED_TREE";
    case Pattern::kSplitTree:
      return "SPLIT_TREE";
    case Pattern::kTree:
      return "TREE";
    case Pattern::kRing:
      return "RING";
    case Pattern::kNvls:
      return "NVLS";
    case Pattern::kCollnetDirect:
      return "COLLNET_DIRECT";
  }
  return "";
}

const char* name(GraphKind kind) {
  constexpr ByGraphKind<const char*> kNames = {"ring", "tree", "collnetChain", "collnetDirect", "nvls"};
  return kNames[kind];
}

int graphId(GraphKind kind) {
  constexpr ByGraphKind<int> kIds = {0, 1, 2, 4, 3};
  return kIds[kind];
}

std::vector<LogLine> graphLines(const ChannelGraph& graph, const topology::System& system,
                                const topology::RankNames& names) {
  std::vector<LogLine> lines;
  const rules::RuleSet& rules = system.rules();
  const auto add = [&](std::string text) {
    lines.push_back({LogLevel::kInfo, Subsystem::kGraph, std::move(text), rules.wholeGraphLines});
  };
  if (graph.loadedChannels >= 0)
    add(fmt::format("Search {} : {} channels loaded from XML graph", graph.id, graph.loadedChannels));
  add(fmt::format("Pattern {}, crossNic {}, nChannels {}, bw {:f}/{:f}, type {}/{}, sameChannels {}",
                  static_cast<int>(graph.pattern), graph.crossNic, graph.nChannels, graph.bwIntra,
                  graph.bwInter, paths::name(graph.typeIntra), paths::name(graph.typeInter),
                  graph.sameChannels ? 1 : 0));
  const bool hasNets = system.usesNets();
  const auto net = [&](int i) {
    return i < 0 ? "NET/0-0" : system.name(system.node(topology::NodeType::kNet, i));
  };
  for (int c = 0; c < graph.nChannels; ++c) {
    std::string text = fmt::format("{:2d} :", c);
    if (hasNets) text += " " + net(graph.startNet(c));
    for (int i = 0; i < graph.gpuCount; ++i) {
      // An NVLS channel has a head only; older versions print zeros behind it.
      const bool empty = graph.pattern == Pattern::kNvls && i > 0;
      if (rules.logsGpusByName) {
        if (!empty) text += " " + system.name(system.node(topology::NodeType::kGpu, graph.gpu(c, i)));
        continue;
      }
      text += fmt::format(" GPU/{}",
                          empty ? 0 : names(system, system.node(topology::NodeType::kGpu, graph.gpu(c, i))));
    }
    if (hasNets) text += " " + net(graph.endNet(c));
    add(std::move(text));
  }
  return lines;
}

}  // namespace xylem::search
