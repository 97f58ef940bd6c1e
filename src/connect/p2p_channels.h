#pragma once
// How many channels send and receive use: in total, and between any two ranks.

#include "connect/connections.h"

namespace xylem {

struct P2pChannels {
  int total = 1;
  int perPeer = 1;  // both powers of two
};

// As the ranks of one view count them. `channels`: of the communicator.
P2pChannels countP2pChannels(const RankView& view, int ranks, int channels, const ConnectOptions& options);

}  // namespace xylem
