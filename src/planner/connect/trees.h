#pragma once
// Trees through the whole job: the chains of all hosts, hung together by the double binary tree over nodes.

#include <array>
#include <span>

#include "planner/connect/connections.h"

namespace xylem {

constexpr int kTreeArity = 3;

struct TreeLinks {
  int up = -1;                                      // rank, -1 at the root
  std::array<int, kTreeArity> down = {-1, -1, -1};  // ranks, the free slots last

  bool operator==(const TreeLinks&) const = default;
};

TreeLinks treeOf(const Connections& connections, int rank, int channel);

// Of one of the channels that all others copy: of the first `searched` ones with tree 0, the next with
// tree 1.
TreeLinks treeOfOriginal(const Connections& connections, int rank, int original);

// Does the rank talk to other nodes in the trees of this channel of the search?
bool leavesNode(const Connections& connections, int rank, int searched);

// Hops from the root to the farthest leaf: through a host, and over the nodes.
int treeDepth(const Connections& connections);

}  // namespace xylem
