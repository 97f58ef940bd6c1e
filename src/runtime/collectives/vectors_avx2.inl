// Vectors of 32 bytes, with AVX2 and F16C, for small_float_vectors.inl.

namespace xylem {
namespace {

using Floats = float __attribute__((vector_size(32)));
using Words = std::uint32_t __attribute__((vector_size(32)));
using Halves = std::uint16_t __attribute__((vector_size(16)));  // 16-bit floats, or integers
using SignedHalves = std::int16_t __attribute__((vector_size(16)));
using Bytes = std::uint8_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Floats floatsOf(Halves halves) {
  return reinterpret_cast<Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(halves)));
}
// To nearest, ties to even.
[[gnu::always_inline]] inline Halves halvesOf(Floats floats) {
  return reinterpret_cast<Halves>(
      _mm256_cvtps_ph(reinterpret_cast<__m256>(floats), _MM_FROUND_TO_NEAREST_INT));
}
// NaN where `value` is.
[[gnu::always_inline]] inline Floats smallerOrNan(Floats limit, Floats value) {
  return reinterpret_cast<Floats>(
      _mm256_min_ps(reinterpret_cast<__m256>(limit), reinterpret_cast<__m256>(value)));
}

}  // namespace
}  // namespace xylem
