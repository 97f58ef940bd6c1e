#pragma once
// How many channels send and receive use: in total, and between any two ranks.

#include "planner/connect/connections.h"

namespace xylem {

// What the channels between two ranks are limited by.
enum class PeerLimit : std::uint8_t {
  kTotal,  // as many as there are in total
  kLocal,  // a pair of the host
  kNet,    // ranks on other hosts
};

struct P2pChannels {
  int total = 1;
  int perPeer = 1;  // both powers of two
  PeerLimit limit = PeerLimit::kTotal;
  NodeId gpu = kNoNode, peer = kNoNode;  // the first that want as few; `peer` only inside the host
};

// As the ranks of one view count them. `channels`: of the communicator.
P2pChannels countP2pChannels(const RankView& view, int ranks, int channels, const ConnectOptions& options);

}  // namespace xylem
