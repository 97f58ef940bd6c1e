#include "planner/connect/double_tree.h"

namespace xylem::connect {
namespace {

// The second child of `node` in a tree cut off at `nodes`: node + half, or the nearest to it at a smaller
// power of two that exists; kNoTreeNode if there is none.
int childAbove(int nodes, int node, int half) {
  while (half > 0 && node + half >= nodes) half /= 2;
  return half == 0 ? kNoTreeNode : node + half;
}

// The binary tree over 0 to nodes - 1 in in-order numbering: the lowest set bit of a node is its height, its
// children are half of that bit away to both sides, and its parent has this bit cleared and the next one set.
// Where the tree is cut off, a node takes the nearest existing node in place of a missing parent or child.
// Node 0 is the root; its one child is the highest power of two.
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
  if (tree == 0) return connect::place(nodes_, node);
  // The second tree is the first one shifted by one node if the number of nodes is odd, else mirrored: both
  // turn odd nodes, the leaves, into even ones.
  const bool shifted = nodes_ % 2 == 1;
  const auto image = [&](int other) {
    if (other == kNoTreeNode) return other;
    return shifted ? (other + 1) % nodes_ : nodes_ - 1 - other;
  };
  TreePlace at = connect::place(nodes_, shifted ? (node + nodes_ - 1) % nodes_ : nodes_ - 1 - node);
  at.parent = image(at.parent);
  at.firstChild = image(at.firstChild);
  at.secondChild = image(at.secondChild);
  return at;
}

}  // namespace xylem::connect
