#pragma once
// Connections for networks that reduce (CollNet): chains through a host to its NIC, and the direct pattern in
// which the heads of a host gather from all its ranks.

#include <vector>

#include "planner/connect/connections.h"

namespace xylem {

struct CollnetChain {
  int up = -1;    // the rank before; the number of ranks, which stands for the network, at the head
  int down = -1;  // the rank after
};
CollnetChain collnetChainOf(const Connections& connections, int rank, int channel);
// The first rank of each node's chain, by node; nothing if a node has none on this channel.
std::vector<int> collnetChainHeads(const Connections& connections, int channel);
// The device by which a head gets at the network.
int collnetChainDevice(const Connections& connections, int head, int channel);

// The same on all channels.
struct CollnetDirect {
  int headRank = -1;       // which head this rank is
  int out = -1;            // the number of ranks, which stands for the network, at heads
  int shift = 0;           // where this rank starts among the heads
  int depth = 1;           // levels of the exchange inside the host
  std::vector<int> heads;  // all, starting with this rank if it is one
  std::vector<int> up;     // all but this rank
  std::vector<int> down;   // at heads: the other ranks of the host
};
CollnetDirect collnetDirectOf(const Connections& connections, int rank);

}  // namespace xylem
