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
    {"26-local-cpu-climb", k226, "the way from a GPU to its CPU does not turn back; before, NCCL crashed",
     "a GPU below a switch with another switch before its uplink", "", nullptr, Concerns::kExecution},
    {"26-gdr-mode", k226, "the log names the way of GPU Direct RDMA, C2C or PCI", "NICs with GPU Direct RDMA",
     "", [](RuleSet& r) { r.logsGdrMode = true; }, Concerns::kTexts},
    {"26-c2c-flush", k226,
     "data over PCI is flushed where the GPU has a chip-to-chip link (2.26.2 itself may fail there)",
     "GH200, GB200 with NICs at a switch", "", [](RuleSet& r) { r.flushesPciBesideC2c = true; }},
    {"26-merge-retry", k226, "ports that cannot be merged stay apart; before, NCCL ended",
     "cards with an InfiniBand and an Ethernet port, NCCL_IB_MERGE_NICS=0", "NCCL_NET_MERGE_LEVEL=LOC",
     [](RuleSet& r) { r.apartIfUnmergeable = true; }, Concerns::kDetection},
    {"26-force-merge", k226, "a process's later communicators see all groups, too",
     "jobs with NCCL_NET_FORCE_MERGE", "", nullptr, Concerns::kDetection},
    {"26-env-file", k226,
     "variables that merge and select NICs may stand in configuration files, with comments", "nccl.conf", "",
     nullptr, Concerns::kDetection},
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
    {"27-local-gpu", k227, "a NIC remembers its GPU: the same one", "nothing", "", nullptr,
     Concerns::kExecution},
    {"27-node-limit", k227, "up to 576 devices of a kind, and hosts, in a graph; before, 256",
     "NVLink domains over many hosts", "", nullptr, Concerns::kExecution},
    {"27-local-system", k227, "ranks use the NICs of their own host", "several hosts in one NVLink domain", "",
     [](RuleSet& r) { r.nicOfOwnHostsGpu = true; }},
    {"27-host-hash", k227, "a topology file describes the own host, whatever its host_hash says",
     "jobs with NCCL_TOPO_FILE", "", [](RuleSet& r) { r.fileIsOwnHost = true; }, Concerns::kDetection},
    {"27-nic-merge", k227, "a port that is not merged stays as it is; numbers of NICs begin at 0",
     "cards with several ports", "NCCL_NET_MERGE_LEVEL=LOC", [](RuleSet& r) { r.numbersMergedNets = true; },
     Concerns::kDetection},
    {"27-ib-port-merge", k227, "all ports and virtual functions of a card hang on one PCI device",
     "cards with several ports", "NCCL_IB_MERGE_VFS=0", [](RuleSet& r) { r.portsShareCard = true; },
     Concerns::kDetection},
    {"27-ib-data-direct", k227, "a NIC with a path of its own to the GPU is found on the GPU's side",
     "ConnectX-8 with Direct NIC", "NCCL_IB_DATA_DIRECT=0",
     [](RuleSet& r) { r.dataDirect = DataDirect::kIfThere; }, Concerns::kDetection},
    {"27-ib-xdr", k227, "ports of 800 Gb/s are told", "InfiniBand XDR", "", nullptr, Concerns::kDetection},
    {"27-type-walk", k227, "searches end at the farthest path that exists",
     "several hosts in one NVLink domain", "", nullptr, Concerns::kExecution},
    {"27-mnnvl-enable", k227,
     "hosts of an NVLink domain are planned for one by one if there is no P2P; without memory handles of the "
     "fabric the job fails",
     "several hosts in one NVLink domain, with NCCL_P2P_DISABLE=1", "NCCL_MNNVL_ENABLE=1",
     [](RuleSet& r) { r.mnnvlNeedsP2p = true; }},
    {"27-collnet-config", k227, "CollNet is a setting of the communicator, too; the variable is a number",
     "CollNet", "", nullptr, Concerns::kExecution},
    {"27-share", k227, "communicators that shrink may share resources as those that split", "ncclCommShrink",
     "", nullptr, Concerns::kExecution},
    {"27-cta-policy", k227, "AllGather and ReduceScatter of registered buffers use NVLS with few channels",
     "jobs with NCCL_CTA_POLICY=1", "NCCL_CTA_POLICY=0", nullptr, Concerns::kExecution},
    {"27-nvls-reg-channels", k227, "NVLS uses other numbers of channels for registered buffers",
     "registered buffers with NVLS", "", nullptr, Concerns::kExecution},
    {"27-symmetric", k227, "kernels for buffers in symmetric windows, beside all algorithms",
     "ncclCommWindowRegister", "NCCL_WIN_ENABLE=0", nullptr, Concerns::kExecution},
    {"27-graph-print", k227, "the log shows the GPUs of channels by bus id", "logs", "",
     [](RuleSet& r) { r.logsGpusByName = true; }, Concerns::kTexts},
    {"27-gdr-log", k227, "the log of GRAPH has the lines on GPU Direct RDMA, too", "logs", "",
     [](RuleSet& r) {
       r.gdrLog = GdrLog::kGraph;
       r.logsC2cGdr = true;
     }, Concerns::kTexts},
    {"27-log", k227, "a search that finds nothing, and files that cannot be opened, are no warnings", "logs",
     "", [](RuleSet& r) { r.failedSearchIsInfo = true; }, Concerns::kTexts},
    {"27-graph-file", k227, "graph files may leave out latencyinter", "graph files", "", nullptr,
     Concerns::kTexts},
    {"27-xml-text", k227, "values may stand in single quotes; one of more than 253 characters is an error",
     "topology files", "", nullptr, Concerns::kDetection},
    // 2.28
    {"28-guid", k228, "NICs without guid are devices of their own host", "several hosts in one NVLink domain",
     "", [](RuleSet& r) { r.asicIsNode = true; }},
    {"28-keep-nets", k228Last, "NICs stay in the graph of a job of one host", "jobs of one host with NICs",
     "NCCL_CROSS_NIC=0", [](RuleSet& r) { r.keepsNets = true; }},
    {"28-pxn-c2c", k228, "a relay may reach the NIC over its chip-to-chip link",
     "GH200, GB200 with NICs on the CPU", "NCCL_PXN_C2C=0", [](RuleSet& r) { r.pxnOverC2c = true; }},
    {"28-netdevs-policy", k228, "a variable decides how many of the nearest NICs a GPU uses",
     "jobs with NCCL_NETDEVS_POLICY", "NCCL_NETDEVS_POLICY=AUTO", [](RuleSet& r) { r.netPolicy = true; }},
    {"28-rail-per-host", k228Last,
     "rings may keep to NICs in one slot of several hosts; before, to equal guids",
     "several hosts in one NVLink domain, with NCCL_MNNVL_RAIL_PER_HOST=1", "NCCL_MNNVL_RAIL_PER_HOST=0",
     [](RuleSet& r) { r.readsRailPerHost = true; }},
    {"28-crossnic-rank", k228, "each host decides by its own ring whether it trades channels",
     "jobs whose hosts differ", "", [](RuleSet& r) { r.ringSwap = RingSwap::kByHost; }},
    {"28-nvls-channels", k228, "a job no longer has at least as many channels as NVLS uses",
     "NVLS with fewer rings than NVLS channels", "NCCL_MIN_NCHANNELS=16, with Blackwell 32",
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
    {"28-pci-class", k228, "devices of class 0x080100 are switches by name; before, as any unknown class",
     "logs", "", nullptr, Concerns::kTexts},
    {"28-vnic-parent", k228, "a merged NIC below a CPU gets a PCI link of its own",
     "NCCL_NET_MERGE_LEVEL of PIX or farther", "NCCL_NET_MERGE_LEVEL=PORT", nullptr, Concerns::kDetection},
    {"28-vnic-width", k228,
     "a merged NIC has the PCI width of its members together, and so have the switches above them",
     "NCCL_NET_MERGE_LEVEL of PIX or farther", "NCCL_NET_MERGE_LEVEL=PORT",
     [](RuleSet& r) { r.mergedWidth = MergedWidth::kMembersToo; }, Concerns::kDetection},
    {"28-mnnvl-rack", k228, "a clique of an NVLink domain may be a rack",
     "NCCL_MNNVL_CLIQUE_ID=-2, several hosts in one NVLink domain", "NCCL_MNNVL_CLIQUE_ID=-1",
     [](RuleSet& r) { r.cliquesByRack = true; }},
    {"28-ib-data-direct", k228, "a NIC's own path to the GPU is looked for only with DMA-BUF",
     "ConnectX-8 with Direct NIC", "NCCL_IB_DATA_DIRECT=0",
     [](RuleSet& r) { r.dataDirect = DataDirect::kWithDmaBuf; }, Concerns::kDetection},
    {"28-net-peer-config", k228,
     "the channels per remote peer are a setting of the communicator; values of 0 or less are ignored",
     "jobs with NCCL_NCHANNELS_PER_NET_PEER", "", [](RuleSet& r) { r.netPeersFromOne = true; }},
    {"28-p2p-base", k228Last,
     "the channels of a round of send and receive follow each other; before, they were far apart",
     "every job with send and receive", "", nullptr, Concerns::kExecution},
    {"28-p2p-batch", k228Last, "sends and receives share a batch only within eight rounds",
     "many sends and receives in a group", "", nullptr, Concerns::kExecution},
    {"28-share", k228, "children of a revoked communicator share nothing", "ncclCommRevoke", "", nullptr,
     Concerns::kExecution},
    {"28-ring-check", k228, "a broken ring of more than 32 ranks may go unnoticed, until 2.29.3", "nothing",
     "", nullptr, Concerns::kExecution},
    {"28-tuner", k228, "tuner plugins may rewrite the model's tables", "tuners of interface 5", "", nullptr,
     Concerns::kExecution},
    {"28-symmetric", k228, "all collectives of a group may use symmetric kernels", "ncclCommWindowRegister",
     "NCCL_WIN_ENABLE=0", nullptr, Concerns::kExecution},
    {"28-ce", k228, "copy engines gather and scatter between symmetric windows",
     "jobs with NCCL_CTA_POLICY=2", "NCCL_CTA_POLICY=0", nullptr, Concerns::kExecution},
    {"28-log", k228, "the log tells the size of groups of send and receive", "logs", "",
     [](RuleSet& r) { r.logsP2pGroups = true; }, Concerns::kTexts},
    // 2.29
    {"29-p2c-near", k229, "only a GPU's nearest NICs are P2C",
     "GH200, GB200 with NICs at different distances", "", [](RuleSet& r) { r.p2cNets = P2cNets::kNearest; }},
    {"29-gdr-level", k229, "a NIC at distance P2C needs a limit of P2C or farther, which is the default, for GPU Direct RDMA",
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
    {"29-gin-node", k229Last,
     "descriptions tell which NICs GPUs can start themselves (`gin`), and which only they use (net=\"0\")",
     "topology files", "", [](RuleSet& r) { r.ginNodes = true; }},
    {"29-ib-order", k229, "NICs count up by PCI bus id; before, as they were found",
     "hosts with several NICs", "NCCL_IB_DEVICE_PCI_ORDER=0", [](RuleSet& r) { r.ordersNicsByBusId = true; },
     Concerns::kDetection},
    {"29-limits", k229Last,
     "640 devices of a kind, 640 children of an element, 65536 elements of a graph file", "large machines",
     "",
     [](RuleSet& r) {
       r.maxChildren = 640;
       r.maxGraphFileElements = 65536;
     }},
    {"29-collnet-write", k229, "CollNetDirect always writes; before, it read small data", "CollNet", "",
     nullptr, Concerns::kExecution},
    {"29-allgatherv", k229, "Broadcasts from several roots in a group run together, tuned as an AllGather",
     "groups of Broadcasts", "NCCL_ALLGATHERV_ENABLE=0", nullptr, Concerns::kExecution},
    {"29-nvls-error", k229, "a job fails if multicast memory cannot be bound", "NVLS", "NCCL_NVLS_ENABLE=0",
     nullptr, Concerns::kExecution},
    {"29-group-order", k229,
     "collectives of a group that a symmetric kernel could serve are joined from the largest on",
     "groups of equal collectives on one NVLink host", "NCCL_WIN_ENABLE=0", nullptr, Concerns::kExecution},
    {"29-cta-policy", k229, "the policy has names, and two of them exclude each other",
     "jobs with NCCL_CTA_POLICY", "", nullptr, Concerns::kExecution},
    {"29-ce", k229, "copy engines serve large AllGathers unasked",
     "AllGather of 8 Mi elements and more in symmetric windows on Blackwell", "NCCL_SYM_CE_THRESHOLD",
     nullptr, Concerns::kExecution},
    {"29-symmetric", k229, "symmetric kernels over several nodes, by network operations that GPUs start",
     "ncclCommWindowRegister", "NCCL_WIN_ENABLE=0", nullptr, Concerns::kExecution},
    {"29-log", k229, "lines on GPU Direct RDMA name the devices; lines of channels are not cut off", "logs",
     "", [](RuleSet& r) {
       r.gdrLog = GdrLog::kNamed;
       r.logsC2cGdr = false;
       r.wholeGraphLines = true;
     },
     Concerns::kTexts},
    // 2.30
    {"30-mlopart", k230Last, "parts of a GPU are devices of their own", "GPUs with the attribute mlopart",
     "NCCL_TOPO_SPLIT_MLOPART=0", [](RuleSet& r) { r.splitGpus = true; }},
    {"30-dev-node", k230, "GPUs that the job does not use stay in the graph, and may relay NVLink",
     "one host that is several nodes", "", [](RuleSet& r) { r.unusedGpusStay = true; }},
    {"30-multirank", k230,
     "several ranks may use one GPU; no NVLS in a job whose last two ranks are on one",
     "NCCL_MULTI_RANK_GPU_ENABLE=1; GPUs with the attribute mlopart", "NCCL_MULTI_RANK_GPU_ENABLE=0",
     [](RuleSet& r) {
       r.readsMultiRank = true;
       r.splitGpusEndNvls = true;
     }},
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
    {"30-rma-node", k230Last, "descriptions tell which NICs do one-sided operations (`rma`)",
     "topology files", "", [](RuleSet& r) { r.rmaNodes = true; }, Concerns::kTexts},
    {"30-nvml-link", k230Last,
     "a GPU's PCI link is the one that runs at the moment; before, the least that device and slot can do",
     "GPUs whose link saves power or is in a narrow slot", "",
     [](RuleSet& r) { r.gpuLinksByNvml = true; }, Concerns::kDetection},
    {"30-affinity-text", k230Last, "every cpu element has an affinity, which may be empty",
     "dumped descriptions", "", [](RuleSet& r) { r.writesEmptyAffinity = true; }, Concerns::kTexts},
    {"30-nvlink-target", k230Last, "NVLinks whose other end is unknown lead to an NVSwitch",
     "virtual machines", "", [](RuleSet& r) { r.hiddenNvlinksEndAtSwitch = true; }, Concerns::kDetection},
    {"30-cpu-for-net", k230Last, "a NIC without PCI device gets a CPU; before, NCCL crashed",
     "descriptions without a CPU", "", nullptr, Concerns::kDetection},
    {"30-rail-plane-attr", k230Last, "NICs may name their rail and plane",
     "NCCL_IB_HCA with name:port:rail:plane", "", nullptr, Concerns::kDetection},
    {"30-ib-speed", k230Last, "the verbs library tells a port's speed", "ports of an unusual speed",
     "NCCL_IB_QUERY_PORT_SPEED=0", [](RuleSet& r) { r.asksPortSpeeds = true; }, Concerns::kDetection},
    {"30-vnic-keep", k230Last, "a process's later communicators see merged NICs alone", "merged NICs", "",
     nullptr, Concerns::kDetection},
    {"30-vnic-width", k230Last,
     "only a merged NIC and the switches above it have the width of its members together",
     "NCCL_NET_MERGE_LEVEL of PXB or farther", "NCCL_NET_MERGE_LEVEL=PORT",
     [](RuleSet& r) { r.mergedWidth = MergedWidth::kOwn; }, Concerns::kDetection},
    {"30-vnic-sys", k230Last, "NICs of different sockets do not merge", "NCCL_NET_MERGE_LEVEL=SYS", "",
     [](RuleSet& r) { r.mergesSockets = false; }, Concerns::kDetection},
    {"30-merge-policy", k230Last, "NICs may merge only within a rail", "NCCL_NET_MERGE_POLICY=RAIL",
     "NCCL_NET_MERGE_POLICY=ALL", [](RuleSet& r) { r.mergesByRail = true; }, Concerns::kDetection},
    {"30-merge-eight", k230, "plugins may merge up to eight ports", "net plugins of interface 12", "",
     nullptr, Concerns::kDetection},
    {"30-pxn-relay", k230, "the relay of a path is found by its device", "GPUs with several ranks", "",
     nullptr, Concerns::kExecution},
    {"30-mnnvl-domain", k230, "ranks of one NVLink domain in different cliques count as a domain",
     "several hosts in one NVLink domain", "", nullptr, Concerns::kExecution},
    {"30-cross-clique", k230, "ranks of different cliques of a domain may reach each other directly",
     "NCCL_MNNVL_CROSS_CLIQUE=1", "NCCL_MNNVL_CROSS_CLIQUE=0", nullptr, Concerns::kExecution},
    {"30-min-net", k230, "the least bandwidth of any rank's NICs counts, and there must be one",
     "NVLS on Blackwell; descriptions without NICs", "", nullptr, Concerns::kExecution},
    {"30-net-mismatch", k230, "a job ends if hosts have unlike numbers of CollNet devices",
     "unlike hosts with CollNet", "NCCL_IGNORE_COLLNET_MISMATCH=1", nullptr, Concerns::kExecution},
    {"30-reg-channels", k230Last, "registered buffers use more channels",
     "registered buffers with one rank per node, or with NVLS", "", nullptr, Concerns::kExecution},
    {"30-tuner-chunk", k230, "tuners may choose the size of chunks", "tuners of interface 6", "", nullptr,
     Concerns::kExecution},
    {"30-work-descriptor", k230, "eight collectives fit a batch; before, ten", "many collectives in a group",
     "", [](RuleSet& r) { r.operationsPerBatch = 8; }},
    {"30-symmetric", k230, "more symmetric kernels, with averages", "ncclCommWindowRegister",
     "NCCL_WIN_ENABLE=0", nullptr, Concerns::kExecution},
    {"30-log", k230,
     "the log shows devices and ranks as nodes of their own, and none on GPU Direct RDMA",
     "logs", "",
     [](RuleSet& r) {
       r.gdrLog = GdrLog::kNone;
       r.logsDevices = true;
       r.logsShmModes = false;
       r.logsTuning = true;
     },
     Concerns::kTexts},
};

}  // namespace

std::span<const Change> changes() { return kChanges; }

const char* name(Concerns concerns) {
  constexpr const char* kNames[] = {"plans", "detection", "texts", "execution"};
  return kNames[static_cast<std::size_t>(concerns)];
}

std::vector<const Change*> changesOf(const Version& known) {
  std::vector<const Change*> found;
  for (const Change& change : kChanges)
    if (nearestKnown(change.since) == known) found.push_back(&change);
  return found;
}

std::vector<const Change*> changesBetween(const Version& from, const Version& to) {
  std::vector<const Change*> found;
  for (const Change& change : kChanges)
    if (change.concerns == Concerns::kPlans && change.since > nearestKnown(from) &&
        change.since <= nearestKnown(to))
      found.push_back(&change);
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
      if (change.apply != nullptr) change.apply(*rules);
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
