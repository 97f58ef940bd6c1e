#include "planner/search/host_graphs.h"

#include "core/settings.h"

namespace xylem {
namespace {

constexpr int kMostRings = 32;
// NVLS with fewer GPUs gains nothing.
constexpr int kFewestNvlsGpus = 3;
// NCCL_NVLS_ENABLE: use multicast if the driver says it is there. Other values but 0 take it for granted.
constexpr std::int64_t kNvlsIfOffered = 2;

ChannelGraph notComputed(const GraphRequest& request) {
  ChannelGraph graph;
  graph.id = request.id;
  graph.pattern = request.pattern;
  graph.collNet = request.collNet;
  graph.minChannels = request.minChannels;
  graph.maxChannels = request.maxChannels;
  return graph;
}

}  // namespace

GraphOptions graphOptions(const GraphOptions& offered, const Settings& settings) {
  const std::int64_t nvls = settings.integer(Setting::kNvlsEnable);
  const bool collnetWanted =
      !settings.isSet(Setting::kCollnetEnable) || settings.integer(Setting::kCollnetEnable) == 1;
  return {nvls == kNvlsIfOffered ? offered.nvls : nvls != 0, offered.collnet && collnetWanted};
}

HostGraphs computeGraphs(HostChannels& channels, const GraphOptions& options) {
  HostGraphs graphs;
  const auto fill = [&](GraphKind kind, Pattern pattern, int least, int most, bool wanted) {
    const bool collnet = kind == GraphKind::kCollnetChain || kind == GraphKind::kCollnetDirect;
    const GraphRequest request{graphId(kind), pattern, collnet, least, most};
    graphs[kind] = wanted ? channels.compute(request) : notComputed(request);
  };
  fill(GraphKind::kRing, Pattern::kRing, 1, kMostRings, true);
  const int rings = graphs[GraphKind::kRing].nChannels;
  fill(GraphKind::kTree, Pattern::kBalancedTree, rings, rings, true);
  fill(GraphKind::kCollnetChain, Pattern::kTree, rings, rings, options.collnet);
  fill(GraphKind::kCollnetDirect, Pattern::kCollnetDirect, 1, kMaxChannels, options.collnet);
  fill(GraphKind::kNvls, Pattern::kNvls, 1, kMaxChannels,
       options.nvls && channels.gpuCount() >= kFewestNvlsGpus);
  return graphs;
}

}  // namespace xylem
