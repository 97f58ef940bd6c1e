// The double binary tree: known small ones, and properties of every size.

#include "planner/connect/double_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

namespace xylem::connect {

void PrintTo(const TreePlace& at, std::ostream* out) {
  *out << at.parent << ";" << at.firstChild << "," << at.secondChild << ";" << at.isSecondChild;
}

namespace {

constexpr int kNone = kNoTreeNode;

TEST(DoubleTree, OfSmallJobs) {
  const DoubleTree two(2);
  EXPECT_EQ(two.place(0, 0), (TreePlace{kNone, kNone, 1, false}));
  EXPECT_EQ(two.place(0, 1), (TreePlace{0, kNone, kNone, true}));
  EXPECT_EQ(two.place(1, 0), (TreePlace{1, kNone, kNone, true}));
  EXPECT_EQ(two.place(1, 1), (TreePlace{kNone, kNone, 0, false}));

  const DoubleTree three(3);
  EXPECT_EQ(three.place(0, 0), (TreePlace{kNone, kNone, 2, false}));
  EXPECT_EQ(three.place(0, 2), (TreePlace{0, 1, kNone, true}));
  EXPECT_EQ(three.place(1, 0), (TreePlace{1, 2, kNone, true}));

  const DoubleTree six(6);
  EXPECT_EQ(six.place(0, 2), (TreePlace{4, 1, 3, false}));
  EXPECT_EQ(six.place(0, 4), (TreePlace{0, 2, 5, true}));
  EXPECT_EQ(six.place(1, 1), (TreePlace{5, 3, 0, true}));
  EXPECT_EQ(six.place(1, 3), (TreePlace{1, 4, 2, false}));
}

// Every node but the root is the child of its parent that it says it is, and reaches the root.
void checkTree(int nodes, int tree) {
  const DoubleTree trees(nodes);
  int roots = 0;
  for (int node = 0; node < nodes; ++node) {
    const TreePlace at = trees.place(tree, node);
    if (at.parent == kNone) {
      ++roots;
      continue;
    }
    const TreePlace parent = trees.place(tree, at.parent);
    ASSERT_EQ(at.isSecondChild ? parent.secondChild : parent.firstChild, node)
        << nodes << " nodes, tree " << tree;
    int steps = 0;
    for (int up = node; up != kNone; up = trees.place(tree, up).parent) ASSERT_LE(++steps, nodes);
  }
  EXPECT_EQ(roots, 1) << nodes << " nodes, tree " << tree;
}

TEST(DoubleTree, IsTwoTreesForEverySize) {
  for (int nodes = 1; nodes <= 130; ++nodes)
    for (int tree : {0, 1}) checkTree(nodes, tree);
}

TEST(DoubleTree, InnerNodesOfOneAreMostlyLeavesOfTheOther) {
  for (int nodes : {4, 16, 64, 100}) {
    const DoubleTree trees(nodes);
    int both = 0;
    for (int node = 0; node < nodes; ++node) {
      const auto inner = [&](int tree) {
        const TreePlace at = trees.place(tree, node);
        return at.firstChild != kNone || at.secondChild != kNone;
      };
      both += inner(0) && inner(1) ? 1 : 0;
    }
    EXPECT_LE(both, 1) << nodes;
  }
}

}  // namespace
}  // namespace xylem::connect
