// The reductions for x86 processors with AVX-512 (F, BW, VL, DQ).

#include "runtime/collectives/reduction.h"
#include "core/copying.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include <immintrin.h>

// GCC's own header leaves undefined what it masks out.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#if defined(__OPTIMIZE__)
// Nobody asks for the processor's floating-point exceptions; keeping them exact would forbid vectors.
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#pragma GCC push_options
// What the compiler vectorizes by itself gains nothing from 64-byte vectors in the caches, and reads memory
// more slowly with them: a Zen 4 fetches ahead better where each line is asked for twice.
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,f16c,prefer-vector-width=256")
// Each builds on those before.
// clang-format off
#include "runtime/collectives/reduction_elements.inl"
#include "runtime/collectives/vectors_avx512.inl"
#include "runtime/collectives/small_float_vectors.inl"
#include "runtime/collectives/reduction_kernels.inl"
// clang-format on
#pragma GCC pop_options

namespace xylem {

const ReductionTable* avx512Reductions() {
  const bool there = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return there ? &kReductions : nullptr;
}

}  // namespace xylem

#else

namespace xylem {

const ReductionTable* avx512Reductions() { return nullptr; }

}  // namespace xylem

#endif
