#pragma once
// The ranks of a job that the GPUs of one host have. A System numbers its host's ranks from 0; whoever names
// them to people or in files needs the job's numbers.
//
//   RankNames names(std::vector<int>{8, 9, 10, 11});
//   names(system, gpu)   ->   9

#include <vector>

#include "planner/topology/system.h"

namespace xylem {

class RankNames {
 public:
  // The host's own numbers.
  RankNames() = default;
  // `ranks`: of the job, by number on the host.
  explicit RankNames(std::vector<int> ranks) : ranks_(std::move(ranks)) {}

  int operator()(const System& system, NodeId gpu) const {
    const int local = system.gpu(gpu).rank;
    return ranks_.empty() ? local : ranks_[static_cast<std::size_t>(local)];
  }

 private:
  std::vector<int> ranks_;
};

}  // namespace xylem
