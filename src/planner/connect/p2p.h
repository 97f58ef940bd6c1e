#pragma once
// Send and receive: how many channels they use, and in which order a rank meets all others.
//
//   P2pChannels p2p = countP2pChannels(view, ranks, channels, options);   // p2p.total, p2p.perPeer
//   for (const P2pRound& round : p2pSchedule(nodes, rank)) ...            // round.sendTo, round.receiveFrom

#include <cstdint>
#include <vector>

#include "planner/connect/connections.h"

namespace xylem::connect {

// The pairs of ranks that limit the channels per peer.
enum class PeerLimit : std::uint8_t {
  kTotal,  // none: all channels are used
  kLocal,  // a pair of the host
  kNet,    // ranks on other hosts
};

struct P2pChannels {
  int total = 1;
  int perPeer = 1;  // both powers of two
  PeerLimit limit = PeerLimit::kTotal;
  // The first GPU, and for kLocal the first peer, that want as few channels as `perPeer`.
  topology::NodeId gpu = topology::kNoNode, peer = topology::kNoNode;
};

// The channels of send and receive as the ranks of one view count them. `channels`: those of the
// communicator.
P2pChannels countP2pChannels(const RankView& view, int ranks, int channels, const ConnectOptions& options);

struct P2pRound {
  int sendTo = 0;
  int receiveFrom = 0;
};

// The rounds of an all-to-all: in each round a rank sends to one rank and receives from one, and both ends
// agree on the round.
std::vector<P2pRound> p2pSchedule(const JobNodes& nodes, int rank);

// The first channel of a round's transfers.
int p2pChannelOfRound(const JobNodes& nodes, int round);
// The channel of part `part` of a transfer whose first channel is `base`: parts follow in bit-reversed steps.
int p2pChannelOfPart(int base, int part, int channels);

}  // namespace xylem::connect
