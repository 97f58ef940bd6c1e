#pragma once
// The nodes of a job as NCCL counts them: what shares a ring inside. Usually a host; a host whose GPUs reach
// each other only over the network is several.
//
//   JobNodes nodes = numberNodes(job);
//   nodes.count(), nodes.ofRank[rank], nodes.ranks(node)[localRank]

#include <span>
#include <vector>

#include "planner/connect/job.h"

namespace xylem {

struct JobNodes {
  std::vector<int> ofRank;     // by rank: its node
  std::vector<int> localRank;  // by rank: its place among the node's ranks
  std::vector<int> firstRank;  // by node
  int maxLocalRanks = 0;
  int minLocalRanks = 0;

  int count() const { return static_cast<int>(firstRank.size()); }
  std::span<const int> ranks(int node) const {
    const auto begin = static_cast<std::size_t>(begin_[static_cast<std::size_t>(node)]);
    const auto end = static_cast<std::size_t>(begin_[static_cast<std::size_t>(node) + 1]);
    return std::span(ranks_).subspan(begin, end - begin);
  }

 private:
  friend JobNodes numberNodes(const Job& job);
  std::vector<int> ranks_;  // node after node, ascending in each
  std::vector<int> begin_;  // by node, and the end
};

// Ranks whose first channel starts at the same rank form a node; nodes are numbered by their first rank.
JobNodes numberNodes(const Job& job);

}  // namespace xylem
