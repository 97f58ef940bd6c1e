#pragma once
// Combines the same elements of several ranks, in the order of the ranks, and writes the result to several
// places: what one core does when it reaches all buffers.
//
//   combineAll(reduction, sources, factors, {out, theirOut}, n, false);

#include <span>

#include "runtime/collectives/reduction.h"

namespace xylem {

struct CombineSources {
  std::span<const std::byte* const> data;  // at least two; raw
  std::span<const Factor> factors;         // of each rank
};

// `out`: at least one place; each may be the same as one of the sources. `streaming`: write past the caches.
void combineAll(const Reduction& reduction, const CombineSources& sources, std::span<std::byte* const> out,
                std::size_t n, bool streaming);

}  // namespace xylem
