#pragma once
// Rings through the whole job: the chains of all nodes, one after the other.
//
//   ringOf(connections, 0)                     ->  {0, 1, 2, 3}
//   ringNeighbours(connections, 2, 0).next     ->  3

#include <vector>

#include "planner/connect/connections.h"

namespace xylem::connect {

// The ranks of a channel's ring, starting with rank 0. Channels are those that rank 0 counts.
std::vector<int> ringOf(const Connections& connections, int channel);

struct RingNeighbours {
  int previous = -1;
  int next = -1;
};
// A rank's neighbours in a channel's ring; does not build the ring.
RingNeighbours ringNeighbours(const Connections& connections, int rank, int channel);

// The ring of a channel of the search; channel c of the job has the ring of `connections.source(0,
// c).searched`.
std::vector<int> searchedRing(const Connections& connections, int searched);

// NCCL's lines: `Channel 00/02 :    0   1   2   3` per ring.
std::vector<LogLine> ringLines(const Connections& connections);

}  // namespace xylem::connect
