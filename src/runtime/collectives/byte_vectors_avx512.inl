// Vectors of 64 bytes for small_float_bytes.inl, for processors with AVX-512 BW.

namespace xylem::collectives {
namespace {

using Halves = std::uint16_t __attribute__((vector_size(64)));  // 16-bit floats, or integers
using SignedHalves = std::int16_t __attribute__((vector_size(64)));
using Bytes = std::uint8_t __attribute__((vector_size(64)));

[[gnu::always_inline]] inline Bytes smallerBytes(Bytes a, Bytes b) {
  return reinterpret_cast<Bytes>(_mm512_min_epu8(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
// Each element with the lower byte of the first and the upper byte of the second one.
[[gnu::always_inline]] inline Bytes lowerAndUpperBytes(Halves lower, Halves upper) {
  return reinterpret_cast<Bytes>(_mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, reinterpret_cast<__m512i>(lower),
                                                        reinterpret_cast<__m512i>(upper)));
}

}  // namespace
}  // namespace xylem::collectives
