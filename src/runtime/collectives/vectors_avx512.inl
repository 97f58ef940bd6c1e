// Vectors of 64 bytes, with AVX-512 (F, BW, VL, DQ), for small_float_vectors.inl.

namespace xylem {
namespace {

using Floats = float __attribute__((vector_size(64)));
using Words = std::uint32_t __attribute__((vector_size(64)));
using Halves = std::uint16_t __attribute__((vector_size(32)));  // 16-bit floats, or integers
using SignedHalves = std::int16_t __attribute__((vector_size(32)));
using Bytes = std::uint8_t __attribute__((vector_size(32)));

[[gnu::always_inline]] inline Floats floatsOf(Halves halves) {
  return reinterpret_cast<Floats>(_mm512_cvtph_ps(reinterpret_cast<__m256i>(halves)));
}
// To nearest, ties to even.
[[gnu::always_inline]] inline Halves halvesOf(Floats floats) {
  return reinterpret_cast<Halves>(
      _mm512_cvtps_ph(reinterpret_cast<__m512>(floats), _MM_FROUND_TO_NEAREST_INT));
}
// NaN where `value` is.
[[gnu::always_inline]] inline Floats smallerOrNan(Floats limit, Floats value) {
  return reinterpret_cast<Floats>(
      _mm512_min_ps(reinterpret_cast<__m512>(limit), reinterpret_cast<__m512>(value)));
}

}  // namespace
}  // namespace xylem
