#pragma once
// Rings through the whole job: the chains of all hosts, one after the other.

#include <vector>

#include "planner/connect/connections.h"

namespace xylem {

// The ranks of a channel's ring, from rank 0. Channels as rank 0 counts them.
std::vector<int> ringOf(const Connections& connections, int channel);

struct RingNeighbours {
  int previous = -1;
  int next = -1;
};
// Without building the ring.
RingNeighbours ringNeighbours(const Connections& connections, int rank, int channel);

// The same rings as the channels of the search have them: channel c of the job has that of
// `connections.source(0, c).searched`.
std::vector<int> searchedRing(const Connections& connections, int searched);

// NCCL's lines: `Channel 00/02 :    0   1   2   3` per ring.
std::vector<LogLine> ringLines(const Connections& connections);

}  // namespace xylem
