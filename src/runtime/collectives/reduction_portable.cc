// The reductions for any processor.

#include "runtime/collectives/reduction.h"

#if defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)
// The library does not read the processor's floating-point exceptions; keeping them exact would forbid
// vectors.
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#include "runtime/collectives/reduction_elements.inl"
#include "runtime/collectives/reduction_kernels.inl"

namespace xylem::collectives {

const ReductionTable& portableReductions() { return kReductions; }

}  // namespace xylem::collectives
