#include "planner/connect/double_tree.h"

namespace xylem {
namespace {

// The last child of `node` over `half`, in a tree cut off at `nodes`: as far away as a power of two below
// `half` allows.
int childAbove(int nodes, int node, int half) {
  while (half > 0 && node + half >= nodes) half /= 2;
  return half == 0 ? kNoTreeNode : node + half;
}

// A binary tree whose nodes are in order: the lowest set bit of a node is its height. Node 0 is the root.
TreePlace place(int nodes, int node) {
  TreePlace at;
  int bit = 1;
  while (bit < nodes && (node & bit) == 0) bit *= 2;
  const int half = bit / 2;
  if (node == 0) {
    if (nodes > 1) at.secondChild = half;
    return at;
  }
  at.parent = (node ^ bit) | (2 * bit);
  if (at.parent >= nodes) at.parent = node ^ bit;
  at.isSecondChild = node > at.parent;
  if (half == 0) return at;
  at.firstChild = node - half;
  at.secondChild = childAbove(nodes, node, half);
  return at;
}

}  // namespace

TreePlace DoubleTree::place(int tree, int node) const {
  if (tree == 0) return xylem::place(nodes_, node);
  // The second tree is the first one shifted by one node, or mirrored where the number of nodes is even.
  const bool shifted = nodes_ % 2 == 1;
  const auto image = [&](int other) {
    if (other == kNoTreeNode) return other;
    return shifted ? (other + 1) % nodes_ : nodes_ - 1 - other;
  };
  TreePlace at = xylem::place(nodes_, shifted ? (node + nodes_ - 1) % nodes_ : nodes_ - 1 - node);
  at.parent = image(at.parent);
  at.firstChild = image(at.firstChild);
  at.secondChild = image(at.secondChild);
  return at;
}

}  // namespace xylem
