#pragma once
// The double binary tree over the nodes of a job: two trees in which almost every node that has children in
// one is a leaf of the other. So both together use every node's bandwidth in both directions.
//
//   DoubleTree trees(6);
//   trees.place(0, 2)   ->   parent 4, children 1 and 3, the first child of its parent

namespace xylem::connect {

constexpr int kNoTreeNode = -1;

struct TreePlace {
  int parent = kNoTreeNode;
  int firstChild = kNoTreeNode, secondChild = kNoTreeNode;
  bool isSecondChild = false;  // of its parent

  bool operator==(const TreePlace&) const = default;
};

class DoubleTree {
 public:
  explicit DoubleTree(int nodes) : nodes_(nodes) {}
  // The place of a node in tree 0 or 1.
  TreePlace place(int tree, int node) const;

 private:
  int nodes_;
};

}  // namespace xylem::connect
