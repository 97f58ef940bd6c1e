#include "planner/connect/connections.h"

#include <algorithm>
#include <array>
#include <optional>

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
constexpr int kNvlsChannelsOneNode = 24;  // of that architecture
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

// The numbers of NVLS on several nodes with Blackwell, by the NICs' bandwidth.
struct NvlsNumbers {
  int channels = kNvlsChannelsSm100;
  int chunk = 128 << 10;
  std::optional<int> treeChunk;
};
NvlsNumbers nvlsNumbersOf(const Connections& c) {
  constexpr int kKiB = 1024;
  constexpr float kFastNic = 96, kUsualNic = 48;  // GB/s
  const float nic = c.minNetBandwidth;
  const int local = c.nodes.minLocalRanks;
  const bool near = c.merged[search::GraphKind::kNvls].typeInter <= paths::PathType::kPxb;
  const NvlsNumbers large{kNvlsChannelsSm100, 256 * kKiB, 256 * kKiB};
  const NvlsNumbers even{kNvlsChannelsSm100, 128 * kKiB, 128 * kKiB};
  const NvlsNumbers small{kNvlsChannelsSm100, 128 * kKiB, 64 * kKiB};
  const auto withFewChannels = [](NvlsNumbers numbers) {
    numbers.channels = kNvlsChannelsOneNode;
    return numbers;
  };
  if (nic < kUsualNic) return {};
  if (c.nodes.count() == 2) {
    if (local <= 4) return large;
    return local >= 16 || (local <= 8 && near && nic < kFastNic) ? small : even;
  }
  if (nic < kFastNic) return withFewChannels(near ? small : even);
  if (local <= 8) return withFewChannels(large);
  return local < 32 ? even : small;
}

bool tunesNvls(const Connections& c) {
  return c.rules().nvlsChannels == rules::NvlsChannels::kByNetwork && c.lowestSm >= kBlackwellSm &&
         c.nodes.count() > 1;
}

// The channels of NVLS that the first rank of a view counts: by the architecture of its GPU or the user's number, within the limits.
int nvlsChannelsOf(const Connections& c, const RankView& view) {
  const auto gpus = view.system->nodes(topology::NodeType::kGpu);
  const auto rankOf = [&](topology::NodeId gpu) { return view.system->gpu(gpu).rank; };
  const int sm = gpus.empty() ? 0 : view.system->gpu(*std::ranges::min_element(gpus, {}, rankOf)).sm;
  const rules::NvlsChannels rule = c.rules().nvlsChannels;
  const bool several = rule == rules::NvlsChannels::kByNetwork ? c.nodes.count() > 1 : c.job.hosts() > 1;
  int channels = sm < kBlackwellSm                               ? kNvlsChannels
                 : several || rule == rules::NvlsChannels::kBySm ? kNvlsChannelsSm100
                                                                 : kNvlsChannelsOneNode;
  if (tunesNvls(c)) channels = nvlsNumbersOf(c).channels;
  const int wanted = c.options.nvlsChannels;
  if (rule == rules::NvlsChannels::kBySm ? wanted >= 0 : wanted > 0) channels = wanted;
  return std::max(c.options.limits.minCtas, std::min(c.options.limits.maxCtas, channels));
}

void chooseNvlsChunks(Connections& c) {
  constexpr int kUsual = 128 << 10;
  constexpr int kTreeOfManyNodes = 64 << 10;
  constexpr int kManyNodes = 4;
  if (c.rules().nvlsChannels != rules::NvlsChannels::kByNetwork) return;
  const NvlsNumbers numbers = tunesNvls(c) ? nvlsNumbersOf(c) : NvlsNumbers{0, kUsual, std::nullopt};
  c.nvlsChunkBytes = c.options.nvlsChunkBytes.value_or(numbers.chunk);
  c.nvlsTreeChunkBytes = c.options.nvlsTreeChunkBytes.value_or(
      numbers.treeChunk.value_or(c.nodes.count() >= kManyNodes ? kTreeOfManyNodes : c.nvlsChunkBytes));
}

// The least bandwidth from a GPU to one of its own NICs, 0 if one has none.
float minNetBandwidthOf(const Job& job) {
  std::optional<float> least;
  for (const RankView& view : job.views) {
    if (view.system->count(topology::NodeType::kNet) == 0) return 0;
    const paths::Locality locality(*view.system, *view.paths);
    for (topology::NodeId gpu : view.system->nodes(topology::NodeType::kGpu))
      for (topology::NodeId net : locality.localNets(gpu)) {
        const float bandwidth = view.paths->path(gpu, net).bandwidth;
        least = std::min(least.value_or(bandwidth), bandwidth);
      }
  }
  return least.value_or(0);
}

// Returns whether the first GPUs of a host's chains are among the heads of CollNet.
bool startAtHeads(const Connections& c, const RankView& view) {
  const bool byNvls = c.rules().nvlsHeadsForCollnet && c.nvlsHeads > 0;
  std::vector<int> heads = byNvls ? nvlsHeads(view) : collnetHeads(view, c.merged);
  if (byNvls) heads.resize(static_cast<std::size_t>(c.nvlsHeads));
  const search::ChannelGraph& chain = (*view.graphs)[search::GraphKind::kCollnetChain];
  const int channels = c.merged[search::GraphKind::kCollnetChain].nChannels;
  for (int channel = 0; channel < channels; ++channel)
    if (std::find(heads.begin(), heads.end(), chain.gpu(channel, 0)) == heads.end()) return false;
  return true;
}

// The decisions that the ranks of a view make alone. The order matters: send/receive depends on the channels.
ViewDecisions decide(const Connections& c, const RankView& view, int nvlsChannels, int perPeer) {
  ViewDecisions decisions;
  const MergedGraph& chain = c.merged[search::GraphKind::kCollnetChain];
  decisions.nvlsChannels = nvlsChannels;
  decisions.channels = countChannels(
      {.searched = c.searched,
       .nodes = c.nodes.count(),
       .lowestSm = c.lowestSm,
       .ringBandwidth = c.merged[search::GraphKind::kRing].bwIntra,
       .collnetFaster = c.collnet && chain.bwIntra > chain.bwInter && c.job.ranks() > c.nodes.count(),
       .nvlsChannels = c.rules().nvlsAddsChannels ? decisions.nvlsChannels : 0},
      c.options.limits);
  const bool eightAtMost = c.rules().collnetDirectToEight && c.nodes.maxLocalRanks > kMaxCollnetRanks;
  if (c.collnet) {
    decisions.collnetHeads = static_cast<int>(collnetHeads(view, c.merged).size());
    decisions.collnetDirectHeads = eightAtMost ? 0 : decisions.collnetHeads;
    if (c.rules().nvlsHeadsForCollnet && c.nvlsHeads > 0) decisions.collnetHeads = c.nvlsHeads;
    if (c.rules().chainsNeedHeads) decisions.collnetChains = startAtHeads(c, view);
  }
  const P2pChannels p2p = c.rules().p2pByNetBandwidth
                              ? limitP2pChannels(c, perPeer, decisions.channels.total())
                              : countP2pChannels(view, c.job.ranks(), decisions.channels.total(), c.options);
  decisions.p2pChannels = p2p.total;
  decisions.p2pChannelsPerPeer = p2p.perPeer;
  return decisions;
}

// Lets each view decide. Under Xylem's rules all views then get the least of their numbers.
void decideAll(Connections& c) {
  std::vector<int> nvlsChannels;
  for (const RankView& view : c.job.views)
    nvlsChannels.push_back(c.nvlsHeads > 0 ? nvlsChannelsOf(c, view) : 0);
  const int perPeer = c.rules().p2pByNetBandwidth ? p2pChannelsPerPeer(c) : 0;
  const bool agree = c.options.rules == Rules::kXylem;
  if (agree)
    std::fill(nvlsChannels.begin(), nvlsChannels.end(),
              *std::min_element(nvlsChannels.begin(), nvlsChannels.end()));
  for (std::size_t i = 0; i < c.job.views.size(); ++i)
    c.views.push_back(decide(c, c.job.views[i], nvlsChannels[i], perPeer));
  if (!agree) return;
  ViewDecisions least = c.views.front();
  for (const ViewDecisions& view : c.views) {
    least.p2pChannelsPerPeer = std::min(least.p2pChannelsPerPeer, view.p2pChannelsPerPeer);
    least.collnetHeads = std::min(least.collnetHeads, view.collnetHeads);
    least.collnetDirectHeads = std::min(least.collnetDirectHeads, view.collnetDirectHeads);
    least.collnetChains = least.collnetChains && view.collnetChains;
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
  if (settings.isSet(Setting::kNvlsChunkSize)) options.nvlsChunkBytes = number(Setting::kNvlsChunkSize);
  if (number(Setting::kNvlsTreeMaxChunkSize) != -2)
    options.nvlsTreeChunkBytes = number(Setting::kNvlsTreeMaxChunkSize);
  options.p2pGroupSize = number(Setting::kP2pScheduleGroupSize);
  if (const int peers = number(Setting::kP2pMaxPeers); peers > 0) options.maxP2pPeers = peers;
  options.netBandwidthPerP2pChannel = number(Setting::kP2pPerChannelNetBw);
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
  const int crossNic = c.merged[search::GraphKind::kRing].crossNic;
  const bool crosses = c.rules().ringSwap == rules::RingSwap::kCrossing ? crossNic != 0 : crossNic == 2;
  c.swapped = crosses && c.searched % 2 == 0;
  checkChannels(c.job, c.searched);
  compareMachines(c);
  c.collnet = c.merged[search::GraphKind::kCollnetChain].nChannels > 0 &&
              c.nodes.count() >= options.collnetNodeThreshold;
  if (c.merged[search::GraphKind::kNvls].nChannels > 0) {
    c.nvlsHeads = paths::kMaxChannels;
    for (const RankView& view : c.job.views)
      c.nvlsHeads = std::min(c.nvlsHeads, static_cast<int>(nvlsHeads(view).size()));
  }
  if (c.rules().nvlsChannels == rules::NvlsChannels::kByNetwork) c.minNetBandwidth = minNetBandwidthOf(c.job);
  if (c.nvlsHeads > 0) chooseNvlsChunks(c);
  decideAll(c);
  return c;
}

}  // namespace xylem::connect
