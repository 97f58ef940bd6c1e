#pragma once
// In which order a rank meets the others when it sends to and receives from many: in each round every rank
// sends to one and receives from one, and all ranks' rounds fit together.
//
//   p2pSchedule(0, {0, 0, 1, 1})   ->   {0, 0}, {1, 1}, {2, 2}, {3, 3}: within the node first

#include <cstdint>
#include <span>
#include <vector>

namespace xylem {

struct P2pRound {
  int send = 0;     // the rank to send to
  int receive = 0;  // the rank to receive from
  bool operator==(const P2pRound&) const = default;
};

// One round per rank. Nodes count from 0; a node's ranks are ordered by their numbers.
std::vector<P2pRound> p2pSchedule(int rank, std::span<const int> nodeOfRank);

// The channel on which a round starts, before it is folded onto the channels there are.
int p2pChannelBase(int round, int nodes, int maxLocalRanks);
// The channel of a transfer's part; `channels` is a power of two.
int p2pChannel(int base, int part, int channels);

}  // namespace xylem
