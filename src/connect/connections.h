#pragma once
// The whole job's connections: hosts' chains joined into rings.
//
//   Connections c = connect(job, settings);
//   c.rings[0]   ->   {0, 1, 2, 3}: channel 0 goes 0 -> 1 -> 2 -> 3 -> 0

#include <optional>
#include <vector>

#include "connect/channel_count.h"
#include "connect/job.h"
#include "connect/merge.h"

namespace xylem {

// A node is what shares a ring inside: a host, or one domain of it.
struct JobNodes {
  std::vector<int> ofRank;     // by rank: its node
  std::vector<int> localRank;  // by rank: its place among the node's ranks
  std::vector<int> firstRank;  // by node
  int maxLocalRanks = 0;
  int count() const { return static_cast<int>(firstRank.size()); }
};

struct Connections {
  JobNodes nodes;
  MergedGraph ring, tree;
  int nChannels = 0;
  int collChannels = 0;                 // channels collectives use
  std::vector<int> source;              // by channel: the channel of the search it follows
  std::vector<std::vector<int>> rings;  // by channel: the ranks in order, from rank 0
};

// Throws Error if a ring does not contain every rank.
Connections connect(const Job& job, const Settings& settings);

// The index of the NET at the end of the chain where `gpu` (an index, too) stands, on a channel of the
// communicator. `searched` is the merged number of channels. nullopt: the graph has no NETs.
std::optional<int> ringNet(const RankView& view, int searched, int channel, int gpu);

// NCCL's lines: `Channel 00/02 :    0   1   2   3` per ring.
std::vector<LogLine> ringLines(const Connections& connections);

}  // namespace xylem
