#pragma once
// Connections holds the decisions that a job's ranks make together once each knows all others' graphs, and
// those that each kind of rank makes alone.
//
//   Connections c = connect(std::move(job), options);
//   ringOf(c, 0)      ->  {0, 1, 2, 3}: channel 0 goes 0 -> 1 -> 2 -> 3 -> 0   (rings.h)
//   treeOf(c, 0, 0)   ->  rank 0 in the tree of channel 0                      (trees.h)
//
// Rings, trees and other links are computed from it on request, for one rank or for all: nothing in it grows
// faster than the number of ranks.

#include <optional>

#include "planner/connect/channel_count.h"
#include "planner/connect/job.h"

namespace xylem {
class Settings;
}
namespace xylem::connect {

// A graph as all ranks agree on it after exchanging theirs: the least channels and bandwidth, the worst
// types.
struct MergedGraph {
  int nChannels = 0;
  bool sameChannels = false;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel
  paths::PathType typeIntra = paths::PathType::kLoc, typeInter = paths::PathType::kLoc;
  int crossNic = 0;
};

search::ByGraphKind<MergedGraph> mergeGraphs(const Job& job);

// The numbers that NCCL computes on each rank without telling the others. Ranks of one view compute the same;
// a job fails under NCCL if the ranks of different views differ.
struct ViewDecisions {
  ChannelCounts channels;
  int nvlsChannels = 0;
  int p2pChannels = 0, p2pChannelsPerPeer = 0;
  int collnetHeads = 0;        // the ranks of a host that own connections to the network that reduces
  int collnetDirectHeads = 0;  // the heads of its channels for CollNetDirect
  bool collnetChains = true;   // CollNetChain works: its chains start at heads
};

// The rules by which views decide.
enum class Rules {
  kNccl,   // each view decides alone
  kXylem,  // all views take the least of their numbers
};

struct ConnectOptions {
  Rules rules = Rules::kNccl;
  ChannelLimits limits;
  int collnetNodeThreshold = 2;  // NCCL_COLLNET_NODE_THRESHOLD
  int nvlsChannels = -1;         // NCCL_NVLS_NCHANNELS; negative decides by architecture
  std::optional<int> nvlsChunkBytes, nvlsTreeChunkBytes;  // NCCL_NVLS_CHUNKSIZE, NCCL_NVLSTREE_MAX_CHUNKSIZE
  int p2pGroupSize = 8;            // NCCL_P2P_SCHEDULE_GROUP_SIZE: local ranks of a group of send and receive
  std::optional<int> maxP2pPeers;  // NCCL_P2P_MAX_PEERS
  int netBandwidthPerP2pChannel = 14;  // NCCL_P2P_PER_CHANNEL_NET_BW, GB/s
  int minP2pChannels = 1, maxP2pChannels = 64;
  int channelsPerNetPeer = -1;  // NCCL_NCHANNELS_PER_NET_PEER; negative decides by the number of ranks
  int crossNic = 2;             // NCCL_CROSS_NIC
  int pxnLevel = 2;             // NCCL_P2P_PXN_LEVEL; 0 if PXN is disabled

  static ConnectOptions from(const Settings& settings);
};

// CollNet serves up to this many ranks per node, by newer rules.
constexpr int kMaxCollnetRanks = 8;

struct Connections {
  ConnectOptions options;
  Job job;
  JobNodes nodes;
  search::ByGraphKind<MergedGraph> merged;
  int searched = 0;  // channels that the rings and the trees of all hosts have
  bool swapped =
      false;  // on odd nodes rings trade channels in pairs (rings.cc); by newer rules those of some hosts
  bool collnet = false;  // the network reduces
  int nvlsHeads = 0;     // heads of NVLS that every node has; 0 without NVLS
  int lowestSm = 0, highestSm = 0;
  float minNetBandwidth = 0;  // GB/s, of any rank to one of its own NICs
  // The sizes of NVLS's chunks, where the rules choose them; bytes.
  int nvlsChunkBytes = 0, nvlsTreeChunkBytes = 0;
  bool mixedArch = false, mixedVendor = false;  // the ranks' CPUs differ
  std::vector<ViewDecisions> views;             // by view

  const rules::RuleSet& rules() const { return job.views.front().system->rules(); }
  const ViewDecisions& of(int rank) const { return views[static_cast<std::size_t>(job.viewOf(rank))]; }
  // The channels that rank 0 counts; other ranks may differ (ViewDecisions).
  int nChannels() const { return of(0).channels.total(); }

  // The channel of the search that a channel of the communicator follows, and its tree: 0 or 1.
  struct Source {
    int searched = 0;
    int tree = 0;
  };
  // The source of a channel in the decisions of `rank`'s view.
  Source source(int rank, int channel) const {
    const int original = of(rank).channels.source[static_cast<std::size_t>(channel)];
    return {original % searched, original / searched};
  }
};

// Throws Error if a channel does not contain all GPUs of its host, which happens only with graphs from files.
Connections connect(Job job, const ConnectOptions& options);

}  // namespace xylem::connect
