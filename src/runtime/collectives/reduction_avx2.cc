// The reductions for x86 processors with AVX2 and F16C.

#include "runtime/collectives/reduction.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include <immintrin.h>

#if defined(__OPTIMIZE__)
// The library does not read the processor's floating-point exceptions; keeping them exact would forbid
// vectors.
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#include "runtime/collectives/reduction_elements.inl"

// Vectors of 32 bytes, for small_float_vectors.inl.
namespace xylem::collectives {
namespace {

using Floats = float __attribute__((vector_size(32)));
using Words = std::uint32_t __attribute__((vector_size(32)));
using Halves = std::uint16_t __attribute__((vector_size(32)));  // 16-bit floats, or integers
using SignedHalves = std::int16_t __attribute__((vector_size(32)));
using Bytes = std::uint8_t __attribute__((vector_size(32)));
using FewHalves = std::uint16_t __attribute__((vector_size(16)));  // as many as Floats

[[gnu::always_inline]] inline Floats floatsOf(FewHalves halves) {
  return reinterpret_cast<Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(halves)));
}
// Rounds to nearest, ties to even.
[[gnu::always_inline]] inline FewHalves halvesOf(Floats floats) {
  return reinterpret_cast<FewHalves>(
      _mm256_cvtps_ph(reinterpret_cast<__m256>(floats), _MM_FROUND_TO_NEAREST_INT));
}
// Cuts off what a 16-bit float has no place for; what is too large becomes the largest number.
[[gnu::always_inline]] inline FewHalves truncatedHalvesOf(Floats floats) {
  return reinterpret_cast<FewHalves>(_mm256_cvtps_ph(reinterpret_cast<__m256>(floats), _MM_FROUND_TO_ZERO));
}

// The two parts of Halves that become Floats, and Halves of both.
[[gnu::always_inline]] inline FewHalves lowerPart(Halves halves) {
  return reinterpret_cast<FewHalves>(_mm256_castsi256_si128(reinterpret_cast<__m256i>(halves)));
}
[[gnu::always_inline]] inline FewHalves upperPart(Halves halves) {
  return reinterpret_cast<FewHalves>(_mm256_extracti128_si256(reinterpret_cast<__m256i>(halves), 1));
}
[[gnu::always_inline]] inline Halves joined(FewHalves lower, FewHalves upper) {
  return reinterpret_cast<Halves>(
      _mm256_set_m128i(reinterpret_cast<__m128i>(upper), reinterpret_cast<__m128i>(lower)));
}

[[gnu::always_inline]] inline Bytes smallerBytes(Bytes a, Bytes b) {
  return reinterpret_cast<Bytes>(_mm256_min_epu8(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
// Each element with the lower byte of the first and the upper byte of the second one.
[[gnu::always_inline]] inline Bytes lowerAndUpperBytes(Halves lower, Halves upper) {
  return reinterpret_cast<Bytes>(_mm256_blendv_epi8(
      reinterpret_cast<__m256i>(lower), reinterpret_cast<__m256i>(upper), _mm256_set1_epi16(-256)));
}

// Rounds to the upper half of each word, ties to even; the lower half is undefined.
[[gnu::always_inline]] inline Words roundedUpperHalves(Words words) {
  return words + 0x7fffu + ((words >> 16) & 1u);
}
// Each word with the lower half of the first and the upper half of the second one.
[[gnu::always_inline]] inline Words lowerAndUpperHalves(Words lower, Words upper) {
  return reinterpret_cast<Words>(
      _mm256_blend_epi16(reinterpret_cast<__m256i>(lower), reinterpret_cast<__m256i>(upper), 0xaa));
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

const ReductionTable* avx2Reductions() {
  const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return supported ? &kReductions : nullptr;
}

}  // namespace xylem::collectives

#else

namespace xylem::collectives {

const ReductionTable* avx2Reductions() { return nullptr; }

}  // namespace xylem::collectives

#endif
