#pragma once
// Whole-number arithmetic of the tuning model: steps of ring algorithms, levels of trees, division.
//
//   ringSteps(Collective::kAllReduce, 4)   ->   6
//   log2Floor(9), log2Ceil(9)              ->   3, 4
//   divideUp(9, 4)                         ->   3

#include <bit>
#include <cstdint>

#include "core/kinds.h"

namespace xylem::tuning {

// Returns how often each part of the data moves from a rank to the next one in a ring algorithm.
constexpr int ringSteps(Collective collective, int ranks) {
  if (collective == Collective::kAllReduce) return 2 * (ranks - 1);
  return gathersOrScatters(collective) ? ranks - 1 : ranks;
}

// Returns how many of these steps cross from node to node, for a ring that visits node after node.
constexpr int ringStepsBetweenNodes(Collective collective, int nodes) {
  return collective == Collective::kAllReduce ? 2 * (nodes - 1) : nodes - 1;
}

// log2Floor(0) is -1.
constexpr int log2Floor(std::uint64_t value) { return static_cast<int>(std::bit_width(value)) - 1; }

constexpr int log2Ceil(int value) {
  int log = 0;
  while ((1 << log) < value) ++log;
  return log;
}

// Divides whole numbers and rounds up.
template <typename Number>
constexpr Number divideUp(Number value, Number divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace xylem::tuning
