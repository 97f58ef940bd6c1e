// The reductions for x86 processors with AVX2 and F16C.

#include "runtime/collectives/reduction.h"
#include "core/copying.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include <immintrin.h>

#if defined(__OPTIMIZE__)
// Nobody asks for the processor's floating-point exceptions; keeping them exact would forbid vectors.
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
// Each builds on those before.
// clang-format off
#include "runtime/collectives/reduction_elements.inl"
#include "runtime/collectives/vectors_avx2.inl"
#include "runtime/collectives/small_float_vectors.inl"
#include "runtime/collectives/reduction_kernels.inl"
// clang-format on
#pragma GCC pop_options

namespace xylem {

const ReductionTable* avx2Reductions() {
  const bool there = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return there ? &kReductions : nullptr;
}

}  // namespace xylem

#else

namespace xylem {

const ReductionTable* avx2Reductions() { return nullptr; }

}  // namespace xylem

#endif
