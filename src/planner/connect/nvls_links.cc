#include "planner/connect/nvls_links.h"

#include <fmt/format.h>

#include "planner/connect/double_tree.h"
#include "planner/connect/heads.h"

namespace xylem {
namespace {

// The lists of heads are printed for jobs up to this many nodes.
constexpr int kMostNodesPrinted = 20;

int headOfNode(const Connections& c, int node, int head) {
  const int first = c.nodes.firstRank[static_cast<std::size_t>(node)];
  const RankView& view = c.job.view(first);
  return c.job.rankOfGpu(c.job.hostOf(first), view, nvlsHeads(view)[static_cast<std::size_t>(head)]);
}

TreeLinks headTree(const Connections& c, int node, int tree, int head) {
  const TreePlace place = DoubleTree(c.nodes.count()).place(tree, node);
  const auto rankOf = [&](int other) { return other == kNoTreeNode ? -1 : headOfNode(c, other, head); };
  TreeLinks links;
  links.up = rankOf(place.parent);
  std::size_t slot = 1;
  for (int child : {rankOf(place.firstChild), rankOf(place.secondChild)})
    if (child >= 0) links.down[slot++] = child;
  return links;
}

}  // namespace

NvlsLinks nvlsOf(const Connections& c, int rank) {
  const int node = c.nodes.ofRank[static_cast<std::size_t>(rank)];
  NvlsLinks links;
  int firstOwned = -1;
  for (int head = 0; head < c.nvlsHeads; ++head) {
    if (headOfNode(c, node, head) != rank) continue;
    links.headRank = head;
    if (firstOwned < 0) firstOwned = head;
  }
  links.down = c.job.ranks() + 1 + links.headRank;
  if (c.collnet && links.headRank >= 0) links.out = c.job.ranks();
  if (c.nodes.count() == 1) return links;
  for (int tree = 0; tree < 2; ++tree) {
    TreeLinks& of = links.trees[static_cast<std::size_t>(tree)];
    if (firstOwned >= 0) of = headTree(c, node, tree, firstOwned);
    of.down[0] = links.down;
  }
  return links;
}

std::vector<LogLine> nvlsHeadLines(const Connections& c) {
  std::vector<LogLine> lines;
  if (c.nodes.count() == 1) return lines;
  for (int head = 0; head < c.nvlsHeads; ++head) {
    std::string text = fmt::format("NVLS Head {:2d}:", head);
    for (int node = 0; node < std::min(c.nodes.count(), kMostNodesPrinted); ++node)
      text += fmt::format(" {:2d}", headOfNode(c, node, head));
    lines.push_back({LogLevel::kInfo, Subsystem::kGraph, std::move(text)});
  }
  return lines;
}

}  // namespace xylem
