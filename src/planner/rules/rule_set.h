#pragma once
// In what NCCL's versions differ: one field per decision. The stages of the planner read fields; none compares versions.
//
//   std::shared_ptr<const RuleSet> rules = rulesOf(parseVersion("2.27.7").value());
//   if (rules->c2cLinks) ...                        // chip-to-chip links have a type of their own
//
// The defaults are the rules of 2.25.1. changes.h has the table of changes, each with the version since which it holds;
// a rule set is 2.25.1's with the changes up to its version, or any others that a caller picks.

#include <cstdint>
#include <memory>
#include <span>

#include "planner/rules/tables.h"
#include "planner/rules/version.h"

namespace xylem::rules {

// The path types to a NIC behind the CPU of a GPU that is joined to it by a chip-to-chip link.
enum class P2cNets : std::uint8_t {
  kNone,     // as behind any other CPU
  kAll,      // P2C for all NICs of that CPU
  kNearest,  // P2C for the GPU's nearest NICs alone
};

// How far GPU Direct RDMA goes over chip-to-chip links, and the variable's default (NCCL_NET_GDR_C2C).
enum class GdrOverC2c : std::uint8_t {
  kNever,
  kOnRequest,  // behind the closest CPU, if the variable is set
  kAsC2c,      // a P2C path counts as C2C unless the variable is 0
  kLevel,      // P2C is the default limit unless the variable is 0
};

// The order of preference in the base search of paths.
enum class PathOrder : std::uint8_t {
  kShortest,  // the widest among the shortest
  kNearest,   // the best type, then the most bandwidth, then the fewest links
};

// How a channel that is not the first starts from a NIC.
enum class SearchStart : std::uint8_t {
  kReplayFirst,  // as the previous channel, then at the GPUs with most bandwidth over the fewest links
  kReplayOrLocal,  // as the previous channel if all must be alike; else at the NIC's own GPU, then at all nearest
};

// The channel that stands in if none is found.
enum class Fallback : std::uint8_t {
  kFirstNic,  // the first NIC at both ends
  kOwnNics,   // the NICs of the first and the last GPU
};

// When rings trade channels in pairs on odd nodes.
enum class RingSwap : std::uint8_t {
  kCrossing,     // if a ring of any host may leave by another NIC than it came
  kAlternating,  // if one of any host alternates between two NICs
  kByHost,       // each host by its own ring
};

// How many channels NVLS uses.
enum class NvlsChannels : std::uint8_t {
  kBySm,       // 16, from compute capability 100 on 32
  kByNodes,    // likewise, but 24 on one host or NVLink domain
  kByNetwork,  // likewise, and by the NICs' bandwidth on several nodes
};

// The lines of the log on GPU Direct RDMA.
enum class GdrLog : std::uint8_t {
  kNet,    // a line per GPU and NIC, for who asks for the subsystem NET
  kGraph,  // for GRAPH, too, and both times that a rank computes paths
  kNamed,  // likewise, with names of devices
  kNone,
};

// The PCI elements that get the width of all members of a merged NIC together.
enum class MergedWidth : std::uint8_t {
  kFirst,       // none: a merged NIC has its first member's
  kMembersToo,  // all from the members up to where they meet
  kOwn,         // the merged NIC's own, and those above it
};

// When a card with a data-direct PCI device, beside the GPU, is a network device of that place (NCCL_IB_DATA_DIRECT).
enum class DataDirect : std::uint8_t {
  kNever,
  kIfThere,     // if the card has such a device
  kWithDmaBuf,  // if it takes DMA-BUF, too
};

// The model of NVLS's bandwidth.
enum class NvlsModel : std::uint8_t {
  kLinks,       // the lower of NVLink's and the NICs'
  kOwnShare,    // AllGather and ReduceScatter: without the rank's own part, and 0.9 of the NICs'
  kEfficiency,  // by the part of NVLink's bandwidth that NVLS reaches, and the number of heads
};

// A GPU's nearest NICs: divided by the GPUs that share them, or all for each.
constexpr int kSharedNets = 0;
constexpr int kAllNets = -1;

struct RuleSet {
  Version version;

  // Topology.
  bool c2cLinks = false;         // 2.26: chip-to-chip links and paths are C2C instead of NVL (GH200, GB200)
  bool fourIntelModels = false;  // 2.26: Intel CPUs from Sapphire Rapids on have faster links between sockets
  float nvlinkSm100 = 40.0f;     // 2.27: GB/s of a Blackwell NVLink, 40.1
  bool trimsNets = false;        // 2.27: trimming drops NICs, too, which are not kept
  bool numbersMergedNets =
      false;  // 2.27: only merged NICs get new numbers, and hang on their members' card if they share one
  MergedWidth mergedWidth = MergedWidth::kFirst;  // 2.28, 2.30: merged NICs of several cards
  bool mergesSockets = true;                      // until 2.29: NICs of different sockets may merge
  bool mergesByRail = false;                      // 2.30: NCCL_NET_MERGE_POLICY
  bool apartIfUnmergeable = false;  // 2.26: ports that cannot be merged stay apart; before, NCCL ends
  bool portsShareCard = false;      // 2.27: ports and virtual functions of a card hang on one PCI device
  bool fileIsOwnHost = false;  // 2.27: NCCL_TOPO_FILE describes the own host, whatever its host_hash says
  DataDirect dataDirect = DataDirect::kNever;  // 2.27, 2.28: ConnectX-8 with Direct NIC
  bool asksPortSpeeds = false;                 // 2.30: the verbs library tells how fast an RDMA port is
  bool gpuLinksByNvml = false;                 // 2.30: a GPU's PCI link is the one that runs at the moment
  bool hiddenNvlinksEndAtSwitch = false;  // 2.30: NVLinks whose other end cannot be read lead to an NVSwitch
  bool ordersNicsByBusId = false;         // 2.29: live RDMA devices count up by PCI bus id
  int maxChildren = 128;                  // 2.29: of an element of a topology file, 640
  bool ginNodes = false;                  // 2.29: `gin` and net="0" of NICs
  bool rmaNodes = false;                  // 2.30: `rma` of NICs
  bool asicIsNode = false;                // 2.28: a NIC without guid is a device of its own host (MNNVL)
  bool mnnvlNeedsP2p = false;  // 2.27: without P2P the hosts of an NVLink domain are planned for one by one
  bool cliquesByRack = false;  // 2.28: NCCL_MNNVL_CLIQUE_ID=-2
  bool splitGpusEndNvls = false;  // 2.30: no NVLS in a job whose last two ranks are parts of one GPU
  bool splitGpus = false;         // 2.30: parts of a GPU are devices of their own (`mlopart`)
  bool partsShareGpus = false;    // by NCCL_TOPO_SPLIT_MLOPART=0: they are ranks on one GPU
  bool readsMultiRank = false;    // 2.30: NCCL_MULTI_RANK_GPU_ENABLE counts
  bool ranksShareGpus = false;    // by that variable: several ranks may use one GPU

  // Paths.
  bool p2cPaths = false;                       // 2.27: the path type P2C, to NICs of a C2C host
  P2cNets p2cNets = P2cNets::kNone;            // 2.27, 2.29: which NICs a GPU on C2C reaches by P2C
  GdrOverC2c gdrOverC2c = GdrOverC2c::kNever;  // 2.26, 2.27, 2.29: GPU Direct RDMA of GPUs on C2C
  bool flushesPciBesideC2c = false;            // 2.26: receives over PCI into a GPU on C2C are flushed
  bool pxnToFarNicsOnly = false;  // 2.27: a relay of equal bandwidth only for NICs beyond PXN; before, PXB
  bool pxnOverC2c = false;        // 2.28: relays may reach the NIC by P2C (default of NCCL_PXN_C2C)
  bool pxnNeedsGdr = false;       // 2.30: relays need GPU Direct RDMA to the NIC
  PathOrder pathOrder = PathOrder::kShortest;  // 2.30: machines with several ways between two points
  bool widestCpuIsClosest = false;             // 2.30: a GPU's closest CPU is among those with most bandwidth
  bool unusedGpusStay = false;   // 2.30: GPUs that the job does not use stay in the graph, as devices
  bool unusedGpusCount = false;  // 2.30: GPUs that the job does not use count for AMD's P2P limit
  bool unknownPeerMayShare =
      false;               // 2.30: ranks of one host that are apart meet in shared memory, not over NICs
  bool netPolicy = false;  // 2.28: NCCL_NETDEVS_POLICY decides how many NICs a GPU uses
  int netsPerGpu = kSharedNets;    // by that variable: a number, or one of the two constants
  bool localNetBySharing = false;  // 2.30: hosts with more NICs than GPUs: which of them is a GPU's own
  bool keepsNets = false;          // 2.28: NICs stay in the graph of a job of one host

  // Search.
  SearchSpeeds searchSpeeds = {speeds::kIntra,           speeds::kIntraSm90,
                               speeds::kIntraSm100Of225, speeds::kInter,
                               speeds::kInterSm90,       speeds::kInterSm90};  // 2.27, 2.29, 2.30: Blackwell
  bool twoRingsOfIslands = false;  // 2.26: rings of two NVLink islands are searched two at a time
  SearchStart searchStart = SearchStart::kReplayFirst;  // 2.27: every job with NICs
  bool scattersNets = false;    // 2.27: NICs in turns over GPUs if the graph has several hosts (MNNVL)
  bool noRouteIfApart = false;  // 2.27: nothing follows a path that does not exist (MNNVL)
  bool farGpusBeforeHopper =
      false;  // 2.29: GPUs below sm 90 may be as far apart as they are, over several hosts
  Fallback fallback = Fallback::kFirstNic;  // 2.29: jobs for which no channel is found
  bool bandwidthOfWires = false;            // 2.30: searches start from the bandwidth of the machine's wires
  bool hopsThroughDevices = false;          // 2.30: paths over relays count two links more than others
  bool readsRailPerHost = false;            // 2.28: NCCL_MNNVL_RAIL_PER_HOST counts
  bool railsByHost =
      false;  // by that variable: NICs of several hosts are on one rail if their cards are in one slot
  bool rails = false;                       // 2.30: rings keep to the rails and planes of NICs that name them
  std::size_t maxGraphFileElements = 4096;  // 2.29: 65536
  bool graphFilesNameRanks = false;         // 2.30: graph files name GPUs by their ranks, too
  int nvlsGpus = 3;                         // 2.28: the fewest local GPUs for NVLS, 2

  // Connections.
  bool nicOfOwnHostsGpu =
      false;  // 2.27: in an NVLink domain sends use a NIC of the own host, not of the first one
  RingSwap ringSwap = RingSwap::kCrossing;          // 2.26, 2.28: NCCL_CROSS_NIC=1; unlike hosts
  NvlsChannels nvlsChannels = NvlsChannels::kBySm;  // 2.27, 2.30: Blackwell with NVLS
  bool nvlsAddsChannels = true;       // until 2.27: a job has at least as many channels as NVLS uses
  bool nvlsHeadsForCollnet = false;   // 2.28: CollNet's heads are NVLS's, where there are some
  bool collnetDirectToEight = false;  // 2.28: CollNet only up to eight ranks per node
  bool chainsNeedHeads = false;       // 2.30: no CollNetChain whose chains start elsewhere than at heads
  bool p2pGroups = false;             // 2.28: send and receive go through groups of eight local ranks
  bool p2pByNetBandwidth = false;     // 2.29: channels per remote peer follow the NICs' bandwidth
  bool allNvlinkByAll = false;        // 2.30: NVLink joins all GPUs only if it does on every host
  bool netPeersFromOne = false;       // 2.28: NCCL_NCHANNELS_PER_NET_PEER below 1 is ignored
  bool p2pMaxPeers = false;           // 2.30: NCCL_P2P_MAX_PEERS counts instead of the number of ranks
  bool nvbWidensP2p = false;          // 2.30: pairs over another GPU count their NVLinks, too

  // Tuning.
  TuningTables tuning;                      // 2.28, 2.29, 2.30: NVLS and PAT, Blackwell
  bool treePatternAgreed = false;           // 2.26: unlike hosts use one tree pattern in the model
  int patSm = 0;                            // 2.26: the lowest compute capability with PAT, 60
  NvlsModel nvlsModel = NvlsModel::kLinks;  // 2.27, 2.28: machines with NVLS
  bool nvlsGathersOverNodes = false;  // 2.27: NVLS AllGather and ReduceScatter between nodes, with CollNet
  bool collnetGathersByNic =
      false;                  // 2.27: CollNetDirect AllGather and ReduceScatter at 0.9 of the NICs' bandwidth
  bool ll128OverC2c = false;  // 2.27: LL128 to NICs by P2C; from Hopper on, PXN at least
  bool ll128OverPxn = true;   // NCCL_LL128_C2C=0 keeps it within PXB from 2.27 on
  bool ll128EverySm = false;  // 2.27: LL128 on every compute capability from 70 on
  bool ll128MixedSm90 = false;     // 2.30: LL128 in jobs that mix GPUs from Hopper on
  bool nvlsTreeCorrected = false;  // 2.29: NVLSTree reaches less at most sizes (x86 with Blackwell)
  float slowestTime = 3.6e9f;      // 2.29: microseconds, beyond which nothing is chosen: no such limit

  int operationsPerBatch = 10;  // 2.30: collectives of a group that a channel starts at once, 8

  // Splitting an operation.
  int llTraffic = 1;           // 2.26: traffic of an LL collective counts four times
  int leastTraffic = 16384;    // 2.29: the least traffic per channel, 32768
  bool wholePartsOnly = true;  // until 2.28: a channel's share is no less than that
  bool wideP2pStepsOnArm =
      false;  // 2.29: send and receive between hosts take larger steps (ARM with Blackwell)
  bool llP2pByChannels = false;  // 2.29: send and receive decide LL by the channels used

  // Log lines and files.
  bool logsGdrMode = false;          // 2.26: lines on GPU Direct RDMA name its way, C2C or PCI
  GdrLog gdrLog = GdrLog::kNet;      // 2.27, 2.29, 2.30: lines on GPU Direct RDMA
  bool logsC2cGdr = false;           // 2.27: a line for each GPU that a NIC reaches over C2C; gone in 2.29
  bool logsGpusByName = false;       // 2.27: channels show GPUs by bus id instead of rank
  bool failedSearchIsInfo = false;   // 2.27: a search that finds nothing is no warning
  bool logsP2pGroups = false;        // 2.28: the size of groups of send and receive
  bool wholeGraphLines = false;      // 2.29: lines of channels are not cut off
  bool logsDevices = false;          // 2.30: devices and ranks are nodes of their own
  bool writesEmptyAffinity = false;  // 2.30: dumped CPUs without affinity have an empty one
  bool logsShmModes = true;          // until 2.29: who copies in shared memory, at both ends
  bool logsTuning = false;           // 2.30: the numbers of NICs, what NVLS and send and receive are tuned to
};

}  // namespace xylem::rules
