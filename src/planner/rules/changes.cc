#include "planner/rules/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace xylem::rules {
namespace {

constexpr Version k226{2, 26, 2}, k227{2, 27, 3}, k227Last{2, 27, 5}, k228{2, 28, 3}, k228Last{2, 28, 9},
    k229{2, 29, 2}, k229Last{2, 29, 7}, k230{2, 30, 3}, k230Last{2, 30, 7};

constexpr Change kChanges[] = {
    // 2.26
    {"26-c2c-type", k226, "chip-to-chip links and the paths over them are C2C instead of NVL",
     "GH200, GB200 and the like", "", [](RuleSet& r) { r.c2cLinks = true; }},
    {"26-intel-upi", k226,
     "the links between Intel CPUs have 22 GB/s from Sapphire Rapids on, 40 from Emerald Rapids on",
     "two or more Intel CPUs since Sapphire Rapids", "", [](RuleSet& r) { r.fourIntelModels = true; }},
    {"26-gdr-c2c", k226, "GPU Direct RDMA may go over a chip-to-chip link",
     "GH200, GB200, with NCCL_NET_GDR_C2C=1", "NCCL_NET_GDR_C2C=0",
     [](RuleSet& r) { r.gdrOverC2c = GdrOverC2c::kOnRequest; }},
    {"26-split-nvlink", k226, "rings of two NVLink islands are searched two at a time",
     "two groups of GPUs that only PCI or the CPUs join", "", [](RuleSet& r) { r.twoRingsOfIslands = true; }},
    {"26-crossnic-swap", k226, "rings trade channels on odd nodes only if they alternate between two NICs",
     "NCCL_CROSS_NIC=1", "", [](RuleSet& r) { r.ringSwap = RingSwap::kAlternating; }},
    {"26-tree-pattern-max", k226, "all ranks take one tree pattern into the model", "jobs whose hosts differ",
     "", [](RuleSet& r) { r.treePatternAgreed = true; }},
    {"26-pat-sm60", k226, "no PAT below compute capability 60", "GPUs before Pascal", "",
     [](RuleSet& r) { r.patSm = 60; }},
    {"26-ll-traffic", k226,
     "a collective with LL counts four times its traffic, so it is split over more channels",
     "small collectives", "", [](RuleSet& r) { r.llTraffic = 4; }},
    // 2.27
    {"27-p2c-type", k227, "NICs behind the CPU of a GPU on a chip-to-chip link are P2C instead of PHB",
     "GH200, GB200; through the budget of searches every job with NICs", "",
     [](RuleSet& r) {
       r.p2cPaths = true;
       r.p2cNets = P2cNets::kAll;
     }},
    {"27-gdr-c2c", k227, "GPU Direct RDMA goes over chip-to-chip links", "GH200, GB200 with NICs on the CPU",
     "NCCL_NET_GDR_C2C=0", [](RuleSet& r) { r.gdrOverC2c = GdrOverC2c::kAsC2c; }},
    {"27-pxn-rule", k227Last,
     "a GPU takes another one's NIC at equal bandwidth only if its own path is farther than PXN",
     "GH200, GB200", "", [](RuleSet& r) { r.pxnToFarNicsOnly = true; }},
    {"27-trim-nets", k227, "trimming a description removes NICs that are not kept",
     "trimmed and fused descriptions", "", [](RuleSet& r) { r.trimsNets = true; }},
    {"27-search-start", k227,
     "a channel starts at the NIC's own GPU, then at all nearest ones; before, over the fewest links",
     "every job with NICs", "", [](RuleSet& r) { r.searchStart = SearchStart::kReplayOrLocal; }},
    {"27-mnnvl-net-order", k227, "NICs are tried in turns over the GPUs of all hosts",
     "several hosts in one NVLink domain", "NCCL_MNNVL_SCATTER_NETS_ENABLE=0",
     [](RuleSet& r) { r.scattersNets = true; }},
    {"27-dis-path", k227, "a search neither follows a path that does not exist nor walks on to that type",
     "several hosts in one NVLink domain", "", [](RuleSet& r) { r.noRouteIfApart = true; }},
    {"27-sm100-speeds", k227, "Blackwell's NVLinks have 40.1 GB/s, and its searches try 96, 45.1 and 18 GB/s",
     "Blackwell", "",
     [](RuleSet& r) {
       r.nvlinkSm100 = 40.1f;
       r.searchSpeeds.intraSm100 = speeds::kIntraSm100Of227;
       r.searchSpeeds.interSm100 = speeds::kInterSm100Of227;
     }},
    {"27-nvls-channels", k227, "NVLS uses 24 channels on one host or NVLink domain; before, 32",
     "Blackwell with NVLS", "NCCL_NVLS_NCHANNELS=32",
     [](RuleSet& r) { r.nvlsChannels = NvlsChannels::kByNodes; }},
    {"27-nvls-agrs", k227,
     "NVLS gathers and scatters at the bandwidth without the rank's own part, with CollNet between nodes, "
     "too",
     "NVLS", "",
     [](RuleSet& r) {
       r.nvlsModel = NvlsModel::kOwnShare;
       r.nvlsGathersOverNodes = true;
     }},
    {"27-collnet-agrs", k227,
     "CollNetDirect gathers and scatters at the bandwidth of GPUs or NICs, whichever is lower", "CollNet", "",
     [](RuleSet& r) { r.collnetGathersByNic = true; }},
    {"27-ll128-c2c", k227, "LL128 may reach NICs by P2C", "GH200, GB200 over several hosts",
     "NCCL_LL128_C2C=0", [](RuleSet& r) { r.ll128OverC2c = true; }},
    {"27-ll128-cc", k227, "LL128 on every compute capability from 70 on",
     "Turing, A40, L40S, B300 with NVLink or alone on a host", "NCCL_PROTO=^LL128",
     [](RuleSet& r) { r.ll128EverySm = true; }},
    // 2.28
    {"28-guid", k228, "NICs without guid are devices of their own host", "several hosts in one NVLink domain",
     "", [](RuleSet& r) { r.asicIsNode = true; }},
    {"28-keep-nets", k228Last, "NICs stay in the graph of a job of one host", "jobs of one host with NICs",
     "NCCL_CROSS_NIC=0", [](RuleSet& r) { r.keepsNets = true; }},
    {"28-pxn-c2c", k228, "a relay may reach the NIC over its chip-to-chip link",
     "GH200, GB200 with NICs on the CPU", "NCCL_PXN_C2C=0", [](RuleSet& r) { r.pxnOverC2c = true; }},
    {"28-netdevs-policy", k228, "a variable decides how many of the nearest NICs a GPU uses",
     "jobs with NCCL_NETDEVS_POLICY", "NCCL_NETDEVS_POLICY=AUTO", [](RuleSet& r) { r.netPolicy = true; }},
    {"28-crossnic-rank", k228, "each host decides by its own ring whether it trades channels",
     "jobs whose hosts differ", "", [](RuleSet& r) { r.ringSwap = RingSwap::kByHost; }},
    {"28-nvls-channels", k228, "a job no longer has at least as many channels as NVLS uses",
     "NVLS with fewer rings than NVLS channels", "NCCL_MIN_NCHANNELS",
     [](RuleSet& r) { r.nvlsAddsChannels = false; }},
    {"28-nvls-two-gpus", k228Last, "NVLS from two local GPUs on; before, from three",
     "two GPUs on an NVSwitch", "NCCL_NVLS_ENABLE=0", [](RuleSet& r) { r.nvlsGpus = 2; }},
    {"28-collnet-eight", k228, "CollNet up to eight ranks per node alone",
     "CollNet with more than eight ranks per node", "", [](RuleSet& r) { r.collnetDirectToEight = true; }},
    {"28-collnet-heads", k228, "CollNet's heads are NVLS's, where there are some", "CollNet with NVLS", "",
     [](RuleSet& r) { r.nvlsHeadsForCollnet = true; }},
    {"28-p2p-schedule", k228Last,
     "send and receive meet the other ranks in groups of up to eight local ranks",
     "every job with send and receive", "", [](RuleSet& r) { r.p2pGroups = true; }},
    {"28-nvls-model", k228, "NVLS's bandwidth follows the part of NVLink's that it reaches, and the heads",
     "NVLS", "", [](RuleSet& r) { r.nvlsModel = NvlsModel::kEfficiency; }},
    {"28-latency", k228Last, "a step of NVLSTree over the network takes 20.9 us, one of PAT more",
     "NVLS over several nodes; PAT", "",
     [](RuleSet& r) {
       r.tuning.nvlsTreeNet = 20.9f;
       r.tuning.patIntra = 4.0f;
       r.tuning.patNet = 14;
     }},
    {"28-sm100-limits", k228, "Tree, and LL128 on two nodes, reach less", "Blackwell", "",
     [](RuleSet& r) {
       r.tuning.maxRingLl128[kBlackwellRow] = {73.4, 34.6, 73.4};
       r.tuning.maxTreeLl128[kBlackwellRow] = {55.6, 31.67, 20.0};
       r.tuning.maxTree[kBlackwellRow] = {70.0, 42.8, 24.0};
     }},
    // 2.29
    {"29-p2c-near", k229, "only a GPU's nearest NICs are P2C",
     "GH200, GB200 with NICs at different distances", "", [](RuleSet& r) { r.p2cNets = P2cNets::kNearest; }},
    {"29-gdr-level", k229, "the limit of GPU Direct RDMA is P2C instead of PXB",
     "GH200, GB200 with NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_LEVEL=P2C",
     [](RuleSet& r) { r.gdrOverC2c = GdrOverC2c::kLevel; }},
    {"29-type-max", k229, "GPUs may be as far apart as they are", "GPUs before Hopper over several hosts", "",
     [](RuleSet& r) { r.farGpusBeforeHopper = true; }},
    {"29-sm100-speeds", k229Last, "searches try 80 GB/s with NICs and 45 without", "Blackwell", "",
     [](RuleSet& r) {
       r.searchSpeeds.intraSm100 = speeds::kIntraSm100Of229;
       r.searchSpeeds.interSm100 = speeds::kInterSm100Of229;
     }},
    {"29-fallback", k229, "if no channel is found, the first and the last GPU take their own NICs",
     "jobs whose search finds nothing", "", [](RuleSet& r) { r.fallback = Fallback::kOwnNics; }},
    {"29-p2p-channels", k229, "channels per remote peer follow the NICs' bandwidth",
     "send and receive over several nodes", "NCCL_NCHANNELS_PER_NET_PEER=2",
     [](RuleSet& r) { r.p2pByNetBandwidth = true; }},
    {"29-p2p-chunk", k229, "send and receive between hosts go in steps of 256 KiB",
     "GB200 over several hosts", "NCCL_P2P_NET_CHUNKSIZE=65536",
     [](RuleSet& r) { r.wideP2pStepsOnArm = true; }},
    {"29-p2p-ll", k229, "send and receive decide about LL by the channels they use", "send and receive", "",
     [](RuleSet& r) { r.llP2pByChannels = true; }},
    {"29-split", k229, "collectives are split into parts of 32 KiB; before, 16",
     "small and medium collectives", "",
     [](RuleSet& r) {
       r.leastTraffic = 32768;
       r.wholePartsOnly = false;
     }},
    {"29-ring-ll128", k229Last, "Ring with LL128 reaches 40 GB/s per channel", "Blackwell", "",
     [](RuleSet& r) {
       r.tuning.maxRingLl128[kBlackwellRow] = {40.0, 40.0, 40.0};
     }},
    {"29-choice-limit", k229, "slow operations no longer fail", "operations that take an hour", "",
     [](RuleSet& r) { r.slowestTime = 3.402823466e+38f; }},
    {"29-nvlstree-correction", k229, "NVLSTree reaches less at most sizes, as Tree does",
     "x86 with Blackwell over several nodes", "", [](RuleSet& r) { r.nvlsTreeCorrected = true; }},
    // 2.30
    {"30-mlopart", k230Last, "parts of a GPU are devices of their own", "GPUs with the attribute mlopart",
     "NCCL_TOPO_SPLIT_MLOPART=0", [](RuleSet& r) { r.splitGpus = true; }},
    {"30-dev-node", k230, "GPUs that the job does not use stay in the graph, and may relay NVLink",
     "one host that is several nodes", "", [](RuleSet& r) { r.unusedGpusStay = true; }},
    {"30-multirank", k230Last, "no NVLS in a job whose last two ranks are on one GPU",
     "GPUs with the attribute mlopart", "", [](RuleSet& r) { r.splitGpusEndNvls = true; }},
    {"30-hops", k230, "paths over relays count two links more than others", "ties between rings or trees", "",
     [](RuleSet& r) { r.hopsThroughDevices = true; }},
    {"30-path-order", k230Last, "paths prefer the best type, then bandwidth, then length",
     "machines with several ways between two points", "",
     [](RuleSet& r) { r.pathOrder = PathOrder::kNearest; }},
    {"30-local-cpu", k230Last, "a GPU's closest CPU is among those with most bandwidth",
     "GPUs with several ways to CPUs", "", [](RuleSet& r) { r.widestCpuIsClosest = true; }},
    {"30-p2p-dev", k230, "GPUs that the job does not use count for AMD's limit of P2P",
     "one or two GPUs of a larger AMD host", "NCCL_P2P_LEVEL=SYS",
     [](RuleSet& r) { r.unusedGpusCount = true; }},
    {"30-netbetter-unknown", k230, "ranks of one host that are apart meet in shared memory, not over NICs",
     "one host that is several nodes", "NCCL_SHM_DISABLE=1",
     [](RuleSet& r) { r.unknownPeerMayShare = true; }},
    {"30-pxn-gdr", k230, "relays need GPU Direct RDMA to the NIC",
     "NVLink hosts with NICs without GPU Direct RDMA", "", [](RuleSet& r) { r.pxnNeedsGdr = true; }},
    {"30-local-net", k230Last, "a GPU's own NICs follow its number among the GPUs that share them",
     "two or more NICs equally near to a GPU", "", [](RuleSet& r) { r.localNetBySharing = true; }},
    {"30-search-init", k230, "searches start from the bandwidth of the machine's wires, unused GPUs included",
     "P2P off; jobs on a part of a host", "", [](RuleSet& r) { r.bandwidthOfWires = true; }},
    {"30-sm100-speeds", k230, "searches try 86 GB/s with NICs", "Blackwell with NICs of 86 GB/s and more", "",
     [](RuleSet& r) { r.searchSpeeds.interSm100 = speeds::kInterSm100Of230; }},
    {"30-rails", k230Last, "rings keep to the rails and planes of NICs",
     "NICs with the attributes rail or plane", "", [](RuleSet& r) { r.rails = true; }},
    {"30-graph-file", k230, "graph files name GPUs by their ranks, too: a file fits the host that wrote it",
     "graph files", "", [](RuleSet& r) { r.graphFilesNameRanks = true; }},
    {"30-direct-nvlink", k230Last, "NVLink joins all GPUs only if it does on every host",
     "jobs whose hosts differ", "", [](RuleSet& r) { r.allNvlinkByAll = true; }},
    {"30-nvls-tuning", k230, "NVLS's channels follow the NICs' bandwidth on several nodes",
     "Blackwell with NVLS over several nodes", "NCCL_NVLS_NCHANNELS=32",
     [](RuleSet& r) { r.nvlsChannels = NvlsChannels::kByNetwork; }},
    {"30-nvb-channels", k230Last, "pairs over another GPU count their NVLinks for send and receive",
     "NVLink meshes with pairs of several links", "", [](RuleSet& r) { r.nvbWidensP2p = true; }},
    {"30-p2p-max-peers", k230, "a variable says with how many peers a rank exchanges data at once",
     "jobs with NCCL_P2P_MAX_PEERS", "", [](RuleSet& r) { r.p2pMaxPeers = true; }},
    {"30-collnet-chain", k230Last, "no CollNetChain whose chains start elsewhere than at heads", "CollNet",
     "", [](RuleSet& r) { r.chainsNeedHeads = true; }},
    {"30-nvlstree-limit", k230, "NVLSTree reaches 80 GB/s per channel",
     "Blackwell with NVLS over three nodes or more", "",
     [](RuleSet& r) {
       r.tuning.maxNvlsTree[kBlackwellRow] = {0.0, 96.0, 80.0};
     }},
    {"30-ll128-mixed", k230, "LL128 in jobs that mix GPUs from Hopper on", "Hopper with Blackwell",
     "NCCL_PROTO=^LL128", [](RuleSet& r) { r.ll128MixedSm90 = true; }},
};

}  // namespace

std::span<const Change> changes() { return kChanges; }

std::vector<const Change*> changesOf(const Version& known) {
  std::vector<const Change*> found;
  for (const Change& change : kChanges)
    if (nearestKnown(change.since) == known) found.push_back(&change);
  return found;
}

std::vector<const Change*> changesBetween(const Version& from, const Version& to) {
  std::vector<const Change*> found;
  for (const Change& change : kChanges)
    if (change.since > nearestKnown(from) && change.since <= nearestKnown(to)) found.push_back(&change);
  return found;
}

std::vector<const Change*> fewestOf(std::vector<const Change*> changes,
                                    const std::function<bool(std::span<const Change* const>)>& suffice) {
  for (std::size_t part = (changes.size() + 1) / 2; part > 0; part = part > 1 ? (part + 1) / 2 : 0) {
    for (std::size_t end = changes.size(); end > 0;) {
      std::vector<const Change*> rest = changes;
      const std::size_t begin = end - std::min(part, end);
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                 rest.begin() + static_cast<std::ptrdiff_t>(end));
      if (suffice(rest)) changes = std::move(rest);
      end = begin;
    }
  }
  return changes;
}

bool isRelease(const RuleSet& rules, const Version& release) { return rules.version == release; }

bool isOldest(const RuleSet& rules) { return rules.version == kOldestVersion; }

const Change* findChange(std::string_view name) {
  const auto* found = std::find_if(std::begin(kChanges), std::end(kChanges),
                                   [name](const Change& change) { return change.name == name; });
  return found == std::end(kChanges) ? nullptr : found;
}

std::shared_ptr<const RuleSet> newestRules() { return rulesOf(kNewestVersion); }

// Every plan asks for one of these, so each is made once.
std::shared_ptr<const RuleSet> rulesOf(const Version& version) {
  static const auto kSets = [] {
    std::array<std::shared_ptr<const RuleSet>, kKnownVersions.size()> sets;
    for (std::size_t i = 0; i < sets.size(); ++i) sets[i] = rulesWith(kKnownVersions[i], {});
    return sets;
  }();
  const Version known = nearestKnown(version);
  return kSets[static_cast<std::size_t>(std::find(kKnownVersions.begin(), kKnownVersions.end(), known) -
                                        kKnownVersions.begin())];
}

std::shared_ptr<const RuleSet> rulesWith(const Version& version, std::span<const Change* const> more) {
  auto rules = std::make_shared<RuleSet>();
  rules->version = nearestKnown(version);
  for (const Change& change : kChanges)
    if (change.since <= rules->version || std::find(more.begin(), more.end(), &change) != more.end())
      change.apply(*rules);
  return rules;
}

std::shared_ptr<const RuleSet> rulesOf(const Settings& settings) {
  const std::string& text = settings.text(Setting::kNccl);
  const auto version = parseVersion(text);
  if (!version)
    throw InputError({settings.origin(Setting::kNccl), 0}, fmt::format("XYLEM_NCCL={}", text),
                     "a version of NCCL, such as " + knownVersionsText());
  return rulesOf(*version);
}

}  // namespace xylem::rules
