#pragma once
// What a job's ranks agree on once each knows all others' graphs, and what each kind of rank decides alone.
//
//   Connections c = connect(std::move(job), options);
//   ringOf(c, 0)       ->  {0, 1, 2, 3}: channel 0 goes 0 -> 1 -> 2 -> 3 -> 0   (planner/connect/rings.h)
//   treeOf(c, 0, 0)    ->  rank 0 in the tree of channel 0                     (planner/connect/trees.h)
//
// Rings, trees and the rest of a channel are computed from this when asked for, for one rank or for all:
// nothing here grows faster than the number of ranks.

#include "planner/connect/channel_count.h"
#include "planner/connect/job.h"
#include "planner/connect/merge.h"
#include "planner/connect/nodes.h"

namespace xylem {

class Settings;

// What NCCL computes on each rank without telling the others. Ranks of one view have the same; NCCL breaks
// when those of different views do not.
struct ViewDecisions {
  ChannelCounts channels;
  int nvlsChannels = 0;
  int p2pChannels = 0, p2pChannelsPerPeer = 0;
  int collnetHeads = 0;
};

// What of those is as NCCL leaves it, or agreed on.
enum class Rules {
  kNccl,   // each kind of rank decides alone
  kXylem,  // all ranks take what every kind of rank can do
};

struct ConnectOptions {
  Rules rules = Rules::kNccl;
  ChannelLimits limits;
  int collnetNodeThreshold = 2;  // NCCL_COLLNET_NODE_THRESHOLD
  int nvlsChannels = -1;         // NCCL_NVLS_NCHANNELS; negative decides by architecture
  int minP2pChannels = 1, maxP2pChannels = 64;
  int channelsPerNetPeer = -1;  // NCCL_NCHANNELS_PER_NET_PEER; negative decides by the number of ranks
  int crossNic = 2;             // NCCL_CROSS_NIC
  int pxnLevel = 2;             // NCCL_P2P_PXN_LEVEL; 0 too if PXN is disabled

  static ConnectOptions from(const Settings& settings);
};

struct Connections {
  ConnectOptions options;
  Job job;
  JobNodes nodes;
  ByGraphKind<MergedGraph> merged;
  int searched = 0;      // channels that the rings and the trees of all hosts have
  bool swapped = false;  // rings on odd nodes trade places pairwise
  bool collnet = false;  // the network reduces
  int nvlsHeads = 0;     // channels through the NVSwitches' reduction, on every node; 0 without it
  int lowestSm = 0, highestSm = 0;
  bool mixedArch = false, mixedVendor = false;  // the ranks' CPUs differ
  std::vector<ViewDecisions> views;             // by view

  const ViewDecisions& of(int rank) const { return views[static_cast<std::size_t>(job.viewOf(rank))]; }
  // As rank 0 counts; other ranks may differ (ViewDecisions).
  int nChannels() const { return of(0).channels.total(); }

  // The channel of the search that a channel of the communicator follows, and which of the two trees it has.
  // With the sources of `rank`'s view.
  struct Source {
    int searched = 0;
    int tree = 0;
  };
  Source source(int rank, int channel) const {
    const int original = of(rank).channels.source[static_cast<std::size_t>(channel)];
    return {original % searched, original / searched};
  }
};

// Throws Error if a graph does not connect the GPUs of its host, which only graphs from files can fail to.
Connections connect(Job job, const ConnectOptions& options);

}  // namespace xylem
