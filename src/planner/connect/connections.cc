#include "planner/connect/connections.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/settings.h"
#include "planner/connect/collnet_nvls.h"
#include "planner/connect/p2p.h"
#include "planner/paths/locality.h"

namespace xylem::connect {
namespace {

// Takes the minimum of what all views can do, field by field.
MergedGraph merge(const Job& job, search::GraphKind kind) {
  const search::ChannelGraph& first = (*job.views.front().graphs)[kind];
  MergedGraph merged{first.nChannels, first.sameChannels, first.bwIntra, first.bwInter,
                     first.typeIntra, first.typeInter,    first.crossNic};
  for (const RankView& view : job.views) {
    const search::ChannelGraph& other = (*view.graphs)[kind];
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

// The number of channels that NVLS uses, by architecture.
constexpr int kNvlsChannels = 16;
constexpr int kNvlsChannelsSm100 = 32;
constexpr int kBlackwellSm = 100;

// Throws Error unless each channel contains every GPU: a rank finds its neighbours by its own place in the
// channel.
void checkChannels(const Job& job, int searched) {
  for (const RankView& view : job.views) {
    for (search::GraphKind kind : {search::GraphKind::kRing, search::GraphKind::kTree}) {
      const search::ChannelGraph& graph = (*view.graphs)[kind];
      for (int channel = 0; channel < searched; ++channel) {
        std::vector<bool> seen(static_cast<std::size_t>(graph.gpuCount), false);
        for (int i = 0; i < graph.gpuCount; ++i) seen[static_cast<std::size_t>(graph.gpu(channel, i))] = true;
        const auto missing = std::find(seen.begin(), seen.end(), false);
        if (missing != seen.end())
          throw Error(ResultCode::kInternalError, "channel {} of the {} graph does not contain {}", channel,
                      search::name(kind),
                      view.system->name(view.system->node(topology::NodeType::kGpu,
                                                          static_cast<int>(missing - seen.begin()))));
      }
    }
  }
}

// Finds the range of compute capabilities, and whether the hosts' CPUs differ.
void compareMachines(Connections& c) {
  const topology::Cpu* first = nullptr;
  for (const RankView& view : c.job.views) {
    const topology::System& system = *view.system;
    for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
      const int sm = system.gpu(gpu).sm;
      c.lowestSm = c.highestSm == 0 ? sm : std::min(c.lowestSm, sm);
      c.highestSm = std::max(c.highestSm, sm);
    }
    const topology::Cpu* cpu = system.firstCpu();
    if (cpu == nullptr) continue;
    if (first == nullptr) first = cpu;
    c.mixedArch = c.mixedArch || cpu->arch != first->arch;
    c.mixedVendor = c.mixedVendor || cpu->vendor != first->vendor;
  }
}

// The channels of NVLS that a view counts: by architecture or the user's number, within the limits.
int nvlsChannelsOf(const RankView& view, const ConnectOptions& options) {
  int sm = 0;
  for (topology::NodeId gpu : view.system->nodes(topology::NodeType::kGpu))
    sm = std::max(sm, view.system->gpu(gpu).sm);
  int channels = sm >= kBlackwellSm ? kNvlsChannelsSm100 : kNvlsChannels;
  if (options.nvlsChannels >= 0) channels = options.nvlsChannels;
  return std::max(options.limits.minCtas, std::min(options.limits.maxCtas, channels));
}

// The decisions that the ranks of a view make alone. The order matters: send/receive depends on the channels.
ViewDecisions decide(const Connections& c, const RankView& view, int nvlsChannels) {
  ViewDecisions decisions;
  const MergedGraph& chain = c.merged[search::GraphKind::kCollnetChain];
  decisions.nvlsChannels = nvlsChannels;
  decisions.channels = countChannels(
      {.searched = c.searched,
       .nodes = c.nodes.count(),
       .lowestSm = c.lowestSm,
       .ringBandwidth = c.merged[search::GraphKind::kRing].bwIntra,
       .collnetFaster = c.collnet && chain.bwIntra > chain.bwInter && c.job.ranks() > c.nodes.count(),
       .nvlsChannels = decisions.nvlsChannels},
      c.options.limits);
  if (c.collnet) decisions.collnetHeads = static_cast<int>(collnetHeads(view, c.merged).size());
  const P2pChannels p2p = countP2pChannels(view, c.job.ranks(), decisions.channels.total(), c.options);
  decisions.p2pChannels = p2p.total;
  decisions.p2pChannelsPerPeer = p2p.perPeer;
  return decisions;
}

// Lets each view decide. Under Xylem's rules all views then get the least of their numbers.
void decideAll(Connections& c) {
  std::vector<int> nvlsChannels;
  for (const RankView& view : c.job.views)
    nvlsChannels.push_back(c.nvlsHeads > 0 ? nvlsChannelsOf(view, c.options) : 0);
  const bool agree = c.options.rules == Rules::kXylem;
  if (agree)
    std::fill(nvlsChannels.begin(), nvlsChannels.end(),
              *std::min_element(nvlsChannels.begin(), nvlsChannels.end()));
  for (std::size_t i = 0; i < c.job.views.size(); ++i)
    c.views.push_back(decide(c, c.job.views[i], nvlsChannels[i]));
  if (!agree) return;
  ViewDecisions least = c.views.front();
  for (const ViewDecisions& view : c.views) {
    least.p2pChannelsPerPeer = std::min(least.p2pChannelsPerPeer, view.p2pChannelsPerPeer);
    least.collnetHeads = std::min(least.collnetHeads, view.collnetHeads);
  }
  std::fill(c.views.begin(), c.views.end(), least);
}

}  // namespace

search::ByGraphKind<MergedGraph> mergeGraphs(const Job& job) {
  search::ByGraphKind<MergedGraph> merged;
  for (search::GraphKind kind : search::kAllGraphKinds) merged[kind] = merge(job, kind);
  // Rings and trees share their channels.
  MergedGraph& ring = merged[search::GraphKind::kRing];
  MergedGraph& tree = merged[search::GraphKind::kTree];
  ring.nChannels = tree.nChannels = std::min(ring.nChannels, tree.nChannels);
  return merged;
}

ConnectOptions ConnectOptions::from(const Settings& settings) {
  const auto number = [&](Setting setting) { return static_cast<int>(settings.integer(setting)); };
  ConnectOptions options;
  options.limits = ChannelLimits::from(settings);
  options.collnetNodeThreshold = number(Setting::kCollnetNodeThreshold);
  options.nvlsChannels = number(Setting::kNvlsNChannels);
  options.minP2pChannels = number(Setting::kMinP2pNChannels);
  options.maxP2pChannels = number(Setting::kMaxP2pNChannels);
  options.channelsPerNetPeer = number(Setting::kNChannelsPerNetPeer);
  options.crossNic = number(Setting::kCrossNic);
  options.pxnLevel = number(Setting::kPxnDisable) == 1 ? 0 : number(Setting::kP2pPxnLevel);
  return options;
}

// Makes the decisions for the whole job first: those of the views depend on them.
Connections connect(Job job, const ConnectOptions& options) {
  Connections c;
  c.options = options;
  c.job = std::move(job);
  c.nodes = numberNodes(c.job);
  c.merged = mergeGraphs(c.job);
  c.searched = c.merged[search::GraphKind::kRing].nChannels;
  c.swapped = c.merged[search::GraphKind::kRing].crossNic != 0 && c.searched % 2 == 0;
  checkChannels(c.job, c.searched);
  compareMachines(c);
  c.collnet = c.merged[search::GraphKind::kCollnetChain].nChannels > 0 &&
              c.nodes.count() >= options.collnetNodeThreshold;
  if (c.merged[search::GraphKind::kNvls].nChannels > 0) {
    c.nvlsHeads = paths::kMaxChannels;
    for (const RankView& view : c.job.views)
      c.nvlsHeads = std::min(c.nvlsHeads, static_cast<int>(nvlsHeads(view).size()));
  }
  decideAll(c);
  return c;
}

}  // namespace xylem::connect
