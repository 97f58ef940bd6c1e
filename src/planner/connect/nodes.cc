#include "planner/connect/nodes.h"

#include <algorithm>

namespace xylem {

JobNodes numberNodes(const Job& job) {
  JobNodes nodes;
  const auto ranks = static_cast<std::size_t>(job.ranks());
  nodes.ofRank.resize(ranks);
  nodes.localRank.resize(ranks);
  std::vector<int> nodeOfStart(ranks, -1);
  std::vector<int> sizes;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const int r = static_cast<int>(rank);
    const RankView& view = job.view(r);
    const int start = job.rankAt(job.hostOf(r), view, (*view.graphs)[GraphKind::kRing], 0, 0);
    int& node = nodeOfStart[static_cast<std::size_t>(start)];
    if (node < 0) {
      node = nodes.count();
      nodes.firstRank.push_back(r);
      sizes.push_back(0);
    }
    nodes.ofRank[rank] = node;
    nodes.localRank[rank] = sizes[static_cast<std::size_t>(node)]++;
  }
  nodes.maxLocalRanks = *std::max_element(sizes.begin(), sizes.end());
  nodes.minLocalRanks = *std::min_element(sizes.begin(), sizes.end());
  nodes.begin_.assign(1, 0);
  for (int size : sizes) nodes.begin_.push_back(nodes.begin_.back() + size);
  nodes.ranks_.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    nodes.ranks_[static_cast<std::size_t>(nodes.begin_[static_cast<std::size_t>(nodes.ofRank[rank])] +
                                          nodes.localRank[rank])] = static_cast<int>(rank);
  return nodes;
}

}  // namespace xylem
