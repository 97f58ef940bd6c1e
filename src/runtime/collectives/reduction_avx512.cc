// The reductions for x86 processors with AVX-512 (F, BW, VL, DQ).

#include "runtime/collectives/reduction.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include <immintrin.h>

// GCC's own header leaves masked elements undefined.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#if defined(__OPTIMIZE__)
// The library does not read the processor's floating-point exceptions; keeping them exact would forbid
// vectors.
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#pragma GCC push_options
// Loops that the compiler vectorizes by itself gain nothing from 64-byte vectors on data in the caches, and
// read memory more slowly with them: a Zen 4 prefetches better if each line is read twice.
#define XYLEM_VECTORS_MULTIPLY_64_BITS 1
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,f16c,prefer-vector-width=256")
#include "runtime/collectives/byte_vectors_avx512.inl"
#include "runtime/collectives/reduction_elements.inl"

// Vectors of 64 bytes, for small_float_vectors.inl.
namespace xylem::collectives {
namespace {

using Floats = float __attribute__((vector_size(64)));
using Words = std::uint32_t __attribute__((vector_size(64)));
using FewHalves = std::uint16_t __attribute__((vector_size(32)));  // as many as Floats

[[gnu::always_inline]] inline Floats floatsOf(FewHalves halves) {
  return reinterpret_cast<Floats>(_mm512_cvtph_ps(reinterpret_cast<__m256i>(halves)));
}
// Rounds to nearest, ties to even.
[[gnu::always_inline]] inline FewHalves halvesOf(Floats floats) {
  return reinterpret_cast<FewHalves>(
      _mm512_cvtps_ph(reinterpret_cast<__m512>(floats), _MM_FROUND_TO_NEAREST_INT));
}
// Cuts off what a 16-bit float has no place for; what is too large becomes the largest number.
[[gnu::always_inline]] inline FewHalves truncatedHalvesOf(Floats floats) {
  return reinterpret_cast<FewHalves>(_mm512_cvtps_ph(reinterpret_cast<__m512>(floats), _MM_FROUND_TO_ZERO));
}

// The two parts of Halves that become Floats, and Halves of both.
[[gnu::always_inline]] inline FewHalves lowerPart(Halves halves) {
  return reinterpret_cast<FewHalves>(_mm512_castsi512_si256(reinterpret_cast<__m512i>(halves)));
}
[[gnu::always_inline]] inline FewHalves upperPart(Halves halves) {
  return reinterpret_cast<FewHalves>(_mm512_extracti64x4_epi64(reinterpret_cast<__m512i>(halves), 1));
}
[[gnu::always_inline]] inline Halves joined(FewHalves lower, FewHalves upper) {
  return reinterpret_cast<Halves>(_mm512_inserti64x4(_mm512_castsi256_si512(reinterpret_cast<__m256i>(lower)),
                                                     reinterpret_cast<__m256i>(upper), 1));
}

// Rounds to the upper half of each word, ties to even; the lower half is undefined.
[[gnu::always_inline]] inline Words roundedUpperHalves(Words words) {
  const __mmask16 odd = _mm512_test_epi32_mask(reinterpret_cast<__m512i>(words), _mm512_set1_epi32(0x10000));
  return words + reinterpret_cast<Words>(
                     _mm512_mask_blend_epi32(odd, _mm512_set1_epi32(0x7fff), _mm512_set1_epi32(0x8000)));
}
// Each word with the lower half of the first and the upper half of the second one.
[[gnu::always_inline]] inline Words lowerAndUpperHalves(Words lower, Words upper) {
  return reinterpret_cast<Words>(_mm512_mask_blend_epi16(0xaaaaaaaa, reinterpret_cast<__m512i>(lower),
                                                         reinterpret_cast<__m512i>(upper)));
}

}  // namespace
}  // namespace xylem::collectives

// The second builds on the first.
// clang-format off
#include "runtime/collectives/small_float_vectors.inl"
#include "runtime/collectives/reduction_kernels.inl"
// clang-format on
#pragma GCC pop_options

namespace xylem::collectives {

const ReductionTable* avx512Reductions() {
  const bool supported = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return supported ? &kReductions : nullptr;
}

}  // namespace xylem::collectives

#else

namespace xylem::collectives {

const ReductionTable* avx512Reductions() { return nullptr; }

}  // namespace xylem::collectives

#endif
