// The reductions for x86 processors with AVX2.

#include "collectives/reduction.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#if defined(__OPTIMIZE__)
// Nobody asks for the processor's floating-point exceptions; keeping them exact would forbid vectors.
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#pragma GCC push_options
#pragma GCC target("avx2")
#include "collectives/reduction_kernels.inl"
#pragma GCC pop_options

namespace xylem {

const ReductionTable& avx2Reductions() { return kReductions; }

}  // namespace xylem

#else

namespace xylem {

const ReductionTable& avx2Reductions() { return portableReductions(); }

}  // namespace xylem

#endif
