#pragma once
// Which root a rank checks in at, where a job has several: contiguous blocks of ranks, as even as can be.
//
//   const Blocks blocks{.ranks = 10, .roots = 4};
//   blocks.rootOf(9)  == 3
//   blocks.first(1)   == 3        the ranks of root 1 are first(1) .. first(2) - 1

#include <algorithm>
#include <cstdint>

namespace xylem {

struct Blocks {
  int ranks = 1;
  int roots = 1;

  // More roots than ranks are of no use.
  static int useful(std::size_t ids, int ranks) {
    return static_cast<int>(std::min<std::size_t>(ids, static_cast<std::size_t>(std::max(ranks, 1))));
  }
  int rootOf(int rank) const { return static_cast<int>(std::int64_t{rank} * roots / ranks); }
  int first(int root) const { return static_cast<int>((std::int64_t{root} * ranks + roots - 1) / roots); }
  int count(int root) const { return first(root + 1) - first(root); }
};

}  // namespace xylem
