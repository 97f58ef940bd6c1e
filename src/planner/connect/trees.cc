#include "planner/connect/trees.h"

#include <algorithm>
#include <bit>

#include "planner/connect/double_tree.h"

namespace xylem::connect {
namespace {

// The ranks of a node with links to its parent and its children in the tree of nodes, on a channel of the
// search.
struct NodeEnds {
  int toParent = -1, toFirstChild = -1, toSecondChild = -1;
};

// The first GPU of the chain joins the parent. The tree's pattern decides which of the first two GPUs join
// children.
NodeEnds endsOf(const Connections& c, int node, int searched) {
  const int first = c.nodes.firstRank[static_cast<std::size_t>(node)];
  const RankView& view = c.job.view(first);
  const search::ChannelGraph& tree = (*view.graphs)[search::GraphKind::kTree];
  const int host = c.job.hostOf(first);
  const auto at = [&](int position) {
    return c.job.rankAt(host, view, tree, searched, std::min(position, tree.gpuCount - 1));
  };
  return {at(0), at(tree.pattern == search::Pattern::kTree ? 0 : 1),
          at(tree.pattern == search::Pattern::kSplitTree ? 1 : 0)};
}

// Puts a child into the first free slot.
void addDown(TreeLinks& links, int rank) {
  if (rank < 0) return;
  const auto slot = std::find(links.down.begin(), links.down.end(), -1);
  if (slot != links.down.end()) *slot = rank;
}

}  // namespace

TreeLinks treeOf(const Connections& c, int rank, int channel) {
  return treeOfOriginal(c, rank, c.of(rank).channels.source[static_cast<std::size_t>(channel)]);
}

bool leavesNode(const Connections& c, int rank, int searched) {
  const NodeEnds ends = endsOf(c, c.nodes.ofRank[static_cast<std::size_t>(rank)], searched);
  return rank == ends.toParent || rank == ends.toFirstChild || rank == ends.toSecondChild;
}

TreeLinks treeOfOriginal(const Connections& c, int rank, int original) {
  const int searched = original % c.searched;
  const int tree = original / c.searched;
  const RankView& view = c.job.view(rank);
  const search::ChannelGraph& graph = (*view.graphs)[search::GraphKind::kTree];
  const int host = c.job.hostOf(rank);
  const auto at = [&](int position) { return c.job.rankAt(host, view, graph, searched, position); };
  int position = 0;
  while (at(position) != rank) ++position;
  TreeLinks links;
  if (position > 0) links.up = at(position - 1);
  if (position + 1 < graph.gpuCount) links.down[0] = at(position + 1);

  // The chain gives the links inside the node. The ends of the chain join it to the tree of nodes.
  const int node = c.nodes.ofRank[static_cast<std::size_t>(rank)];
  const TreePlace place = DoubleTree(c.nodes.count()).place(tree, node);
  const NodeEnds mine = endsOf(c, node, searched);
  if (rank == mine.toParent && place.parent != kNoTreeNode) {
    const NodeEnds parent = endsOf(c, place.parent, searched);
    links.up = place.isSecondChild ? parent.toSecondChild : parent.toFirstChild;
  }
  if (rank == mine.toFirstChild && place.firstChild != kNoTreeNode)
    addDown(links, endsOf(c, place.firstChild, searched).toParent);
  if (rank == mine.toSecondChild && place.secondChild != kNoTreeNode)
    addDown(links, endsOf(c, place.secondChild, searched).toParent);
  return links;
}

int treeDepth(const Connections& c) {
  const int nodes = c.nodes.count();
  return c.job.ranks() / nodes - 1 + std::bit_width(static_cast<unsigned>(nodes)) - 1;
}

}  // namespace xylem::connect
