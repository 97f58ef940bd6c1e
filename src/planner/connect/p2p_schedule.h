#pragma once
// The order in which a rank meets all others when everybody sends to everybody: in every round each rank
// sends to one and receives from one, and both ends agree on the round.
//
//   for (const P2pRound& round : p2pSchedule(nodes, rank)) ... round.sendTo, round.receiveFrom ...

#include <vector>

#include "planner/connect/nodes.h"

namespace xylem {

struct P2pRound {
  int sendTo = 0;
  int receiveFrom = 0;
};

std::vector<P2pRound> p2pSchedule(const JobNodes& nodes, int rank);

// The first channel of a round's transfers; part i of a transfer follows in bit-reversed steps.
int p2pChannelOfRound(const JobNodes& nodes, int round);
int p2pChannelOfPart(int base, int part, int channels);

}  // namespace xylem
