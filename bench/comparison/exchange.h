#pragma once
// The least that two ranks must send each other in an operation: one run of elements each way, or none.
//
//   const Exchange e = exchangeOf(c);   // e.from[0]: what rank 0 sends of its input; e.from[0].count may be
//   0

#include <array>

#include "comparison/operations.h"

namespace xylem::bench {

struct Run {
  std::uint64_t start = 0, count = 0;  // in elements of the sender's input
};

struct Exchange {
  std::array<Run, 2> from;  // by sender
};

// `c.ranks` is 2.
Exchange exchangeOf(const Case& c);

}  // namespace xylem::bench
