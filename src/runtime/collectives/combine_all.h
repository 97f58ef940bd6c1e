#pragma once
// Combines the same elements of several ranks, in the order of the ranks, and writes the result to several
// places. One core reads and writes all buffers.
//
//   std::byte* const out[] = {mine, theirs};
//   combineAll(reduction, {inputs, factors}, out, n, false);

#include <span>

#include "runtime/collectives/reduction.h"

namespace xylem::collectives {

struct CombineSources {
  std::span<const std::byte* const> data;  // at least two; raw elements
  std::span<const Factor> factors;         // of each rank
};

// `out`: at least one buffer; each may be one of the sources. `streaming`: write past the caches.
void combineAll(const Reduction& reduction, const CombineSources& sources, std::span<std::byte* const> out,
                std::size_t n, bool streaming);

}  // namespace xylem::collectives
