#include "insight/optimum/built_graph.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "planner/paths/locality.h"

namespace xylem::optimum {
namespace {

// The search counts in thousandths of a GB/s; a graph file writes six digits.
constexpr double kMilli = 1000.0;
// The search's rounding may cost a channel up to this many thousandths of a GB/s.
constexpr int kMaxLowered = 20;
// Limit of a tree's bandwidth inside the host, as a multiple of that to the NETs.
constexpr float kMaxRaise = 2.0f;

float wholeMilli(double bandwidth) {
  return static_cast<float>(std::floor(bandwidth * kMilli + 1e-6) / kMilli);
}

// Sorts pairs first, then single channels, each by their NETs.
std::vector<ChannelColumn> inOrder(std::vector<ChannelColumn> columns) {
  std::stable_sort(columns.begin(), columns.end(), [](const ChannelColumn& a, const ChannelColumn& b) {
    return std::tuple(-a.channels, a.startNet, a.endNet, a.gpus) <
           std::tuple(-b.channels, b.startNet, b.endNet, b.gpus);
  });
  return columns;
}

// Rounds down to six significant digits, as graph files write bandwidths.
float sixDigits(double bandwidth) {
  const double unit = std::pow(10.0, std::floor(std::log10(bandwidth)) - 5);
  return static_cast<float>(std::floor(bandwidth / unit + 1e-6) * unit);
}

void addChannel(search::ChannelGraph& graph, const std::vector<int>& gpus, int start, int end) {
  graph.gpus.insert(graph.gpus.end(), gpus.begin(), gpus.end());
  graph.nets.push_back(start);
  graph.nets.push_back(end);
  ++graph.nChannels;
}

// The GPUs from which a channel goes to its end NET, and the part of its bandwidth that each sends.
std::vector<std::pair<int, float>> exits(const search::ChannelGraph& graph, int channel) {
  switch (graph.pattern) {
    case search::Pattern::kBalancedTree:
      return {{graph.gpu(channel, 0), 0.5f}, {graph.gpu(channel, 1), 0.5f}};
    case search::Pattern::kSplitTree:
      return {{graph.gpu(channel, 1), 1.0f}};
    case search::Pattern::kTree:
      return {{graph.gpu(channel, 0), 1.0f}};
    default:
      return {{graph.gpu(channel, graph.gpuCount - 1), 1.0f}};
  }
}

// Calls `visit` with every route of a channel and the part of its bandwidth there, until a call returns
// false. Returns whether all calls returned true.
template <typename Visit>
bool walk(const search::SearchSpace& space, const search::ChannelGraph& graph, int channel,
          const Visit& visit) {
  const bool nets = space.netCount() > 0;
  if (nets && !visit(space.netToGpu(graph.startNet(channel), graph.gpu(channel, 0)), 1.0f)) return false;
  for (int i = 0; i + 1 < graph.gpuCount; ++i)
    if (!visit(space.gpuToGpu(graph.gpu(channel, i), graph.gpu(channel, i + 1)), 1.0f)) return false;
  if (!nets) {
    const bool closes = graph.pattern == search::Pattern::kRing && graph.gpuCount > 1;
    const auto last = [&] { return graph.gpu(channel, graph.gpuCount - 1); };
    return !closes || visit(space.gpuToGpu(last(), graph.gpu(channel, 0)), 1.0f);
  }
  for (const auto& [gpu, part] : exits(graph, channel))
    if (!visit(space.gpuToNet(gpu, graph.endNet(channel)), part)) return false;
  return true;
}

bool accepted(search::SearchSpace& space, const search::ChannelGraph& graph) {
  const search::Load intra = space.intraLoad(graph.bwIntra);
  const float demand = std::floor(graph.bwInter);
  for (int channel = 0; channel < graph.nChannels; ++channel) {
    if (space.netCount() > 0) {
      const int net = graph.startNet(channel);
      if (space.netBandwidth(net) < demand) return false;
      space.takeNetBandwidth(net, demand);
    }
    const bool fits = walk(space, graph, channel, [&](const search::Route& route, float part) {
      return space.take(route, route.intra ? intra : space.interLoad(graph.bwInter * part));
    });
    if (!fits) return false;
  }
  return true;
}

// Finds by bisection the greatest bandwidth inside the host that still fits.
void raiseInside(search::ChannelGraph& graph, const search::SearchSpace& space, double fastest) {
  const float before = graph.bwIntra;
  auto least = static_cast<int>(static_cast<double>(before) * kMilli);
  auto most = static_cast<int>(std::min(static_cast<double>(kMaxRaise * graph.bwInter), fastest) * kMilli);
  while (least < most) {
    const int middle = (least + most + 1) / 2;
    graph.bwIntra = static_cast<float>(middle / kMilli);
    search::SearchSpace left = space;
    if (accepted(left, graph))
      least = middle;
    else
      most = middle - 1;
  }
  graph.bwIntra = std::max(before, static_cast<float>(least / kMilli));
}

void describe(search::ChannelGraph& graph, const search::SearchSpace& space, int crossNic) {
  graph.nHops = 0;
  if (graph.gpuCount > 1) graph.typeIntra = paths::PathType::kLoc;
  if (space.netCount() > 0) graph.typeInter = paths::PathType::kPix;
  bool crosses = false;
  graph.sameChannels = true;
  for (int channel = 0; channel < graph.nChannels; ++channel) {
    walk(space, graph, channel, [&](const search::Route& route, float) {
      paths::PathType& farthest = route.intra ? graph.typeIntra : graph.typeInter;
      farthest = std::max(farthest, route.type);
      if (graph.pattern != search::Pattern::kRing) farthest = std::max(farthest, route.reverseType);
      graph.nHops += route.hops;
      return true;
    });
    for (int i = 0; i < graph.gpuCount; ++i) graph.sameChannels &= graph.gpu(channel, i) == graph.gpu(0, i);
    if (space.netCount() > 0) crosses |= !space.samePort(graph.startNet(channel), graph.endNet(channel));
  }
  graph.crossNic = !crosses ? 0 : crossNic;
  if (space.netCount() > 0) {
    const topology::System& system = space.system();
    graph.latencyInter =
        system.net(system.node(topology::NodeType::kNet, graph.startNet(graph.nChannels - 1))).latency;
  }
}

}  // namespace

bool isAccepted(const search::ChannelGraph& graph, const topology::System& system,
                const paths::PathTable& paths) {
  const paths::Locality locality(system, paths);
  search::SearchSpace space(system, paths, locality);
  return accepted(space, graph);
}

std::optional<search::ChannelGraph> builtGraph(const ChannelSet& set, const search::ChannelGraph& like,
                                               const BuildHost& host) {
  search::ChannelGraph graph;
  graph.id = like.id;
  graph.pattern = like.pattern;
  graph.collNet = like.collNet;
  graph.minChannels = like.minChannels;
  graph.maxChannels = like.maxChannels;
  graph.typeIntra = like.typeIntra;
  graph.typeInter = like.typeInter;
  graph.gpuCount = host.system.count(topology::NodeType::kGpu);
  for (const ChannelColumn& column : inOrder(set.columns)) {
    addChannel(graph, column.gpus, column.startNet, column.endNet);
    if (column.channels == 1) continue;
    addChannel(graph, {column.gpus.rbegin(), column.gpus.rend()}, column.endNet, column.startNet);
  }
  const paths::Locality locality(host.system, host.paths);
  const search::SearchSpace space(host.system, host.paths, locality);
  describe(graph, space, host.crossNic);

  // Try the exact bandwidth, then whole thousandths, lowered step by step, as the search's rounding may
  // require.
  std::vector<float> bandwidths = {sixDigits(set.bandwidth)};
  for (int lowered = 0; lowered <= kMaxLowered; ++lowered)
    bandwidths.push_back(wholeMilli(set.bandwidth - lowered / kMilli));
  for (const float bandwidth : bandwidths) {
    if (bandwidth <= 0) break;
    graph.bwIntra = graph.bwInter = bandwidth;
    search::SearchSpace left = space;
    if (!accepted(left, graph)) continue;
    if (graph.pattern != search::Pattern::kRing && space.netCount() > 0 && graph.gpuCount > 1)
      raiseInside(graph, space, host.fastest);
    return graph;
  }
  return std::nullopt;
}

}  // namespace xylem::optimum
