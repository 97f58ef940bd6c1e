#pragma once
// Trees through the whole job: the chains of all nodes, joined by the double binary tree over nodes
// (double_tree.h).
//
//   TreeLinks links = treeOf(connections, rank, channel);   // links.up, links.down

#include <array>
#include <span>

#include "planner/connect/connections.h"

namespace xylem::connect {

constexpr int kTreeArity = 3;

struct TreeLinks {
  int up = -1;                                      // rank, -1 at the root
  std::array<int, kTreeArity> down = {-1, -1, -1};  // ranks, the free slots last

  bool operator==(const TreeLinks&) const = default;
};

// A rank's links in the tree of a channel of the communicator.
TreeLinks treeOf(const Connections& connections, int rank, int channel);

// A rank's links in an original channel, one that other channels copy: the first `searched` originals have
// tree 0, the next ones tree 1.
TreeLinks treeOfOriginal(const Connections& connections, int rank, int original);

// Returns whether the rank has links to other nodes in the trees of this channel of the search.
bool leavesNode(const Connections& connections, int rank, int searched);

// The hops from the root to the farthest leaf: through a host and over the nodes.
int treeDepth(const Connections& connections);

}  // namespace xylem::connect
