#pragma once
// Send and receive: how many channels they use, and in which order a rank meets all others.
//
//   P2pChannels p2p = countP2pChannels(view, ranks, channels, options);   // p2p.total, p2p.perPeer
//   for (const P2pRound& round : p2pSchedule(connections, rank)) ...          // round.sendTo, round.receiveFrom

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

// The same in two steps, by newer rules: first the channels per peer that all ranks of the job can have, then those that the
// channels of the communicator leave.
struct P2pNeed {
  int channels = 0;                     // per peer
  PeerLimit limit = PeerLimit::kTotal;  // the first pair that wants as few
  int view = 0;                         // of the job, in which it is
  topology::NodeId gpu = topology::kNoNode, peer = topology::kNoNode;
};
P2pNeed leastP2pNeed(const Connections& connections);
int p2pChannelsPerPeer(const Connections& connections);
P2pChannels limitP2pChannels(const Connections& connections, int perPeer, int channels);

struct P2pRound {
  int sendTo = 0;
  int receiveFrom = 0;
};

// The rounds of an all-to-all: in each round a rank sends to one rank and receives from one, and both ends
// agree on the round.
std::vector<P2pRound> p2pSchedule(const Connections& connections, int rank);

// The peers with which a rank exchanges data at once, as NCCL_P2P_MAX_PEERS says where the rules read it; else all ranks.
int p2pPeers(const Connections& connections);

// By newer rules the ranks of each node are cut into groups of this many, which meet one after the other; 0 by older ones.
int p2pGroupSize(const Connections& connections);

// The first channel of a round's transfers.
int p2pChannelOfRound(const Connections& connections, int round, int channels);
// The channel of part `part` of a transfer whose first channel is `base`: parts follow in bit-reversed steps, by newer rules
// one by one.
int p2pChannelOfPart(const Connections& connections, int base, int part, int channels);

}  // namespace xylem::connect
