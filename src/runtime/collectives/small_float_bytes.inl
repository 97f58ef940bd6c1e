// 8-bit floats as 16-bit ones, which have the same bits in another position, and back with one rounding. Builds on the vector types that the
// including file defines before: Halves and SignedHalves, of 16-bit integers, and Bytes of the same size.

namespace xylem::collectives {
namespace {

// Rounds the magnitude to nearest, ties to even; the bits below bit kLast are undefined.
template <int kLast>
[[gnu::always_inline]] inline Halves roundedHalves(Halves halves) {
  constexpr std::uint16_t kBelowHalf = (1 << (kLast - 1)) - 1;
  return halves + kBelowHalf + ((halves >> kLast) & 1);
}

struct HalvesOfE5m2 {
  // `bytes`: in the upper byte of each element; the lower one does not count.
  [[gnu::always_inline]] static Halves halves(Halves bytes) { return bytes & 0xff00; }
  [[gnu::always_inline]] static Bytes bytes(Halves even, Halves odd) {
    const auto both =
        reinterpret_cast<Bytes>((roundedHalves<8>(even) >> 8) | (roundedHalves<8>(odd) & 0xff00));
    const Bytes below = both - 1;
    return (both & 0x7f) == 0x7c ? below : both;  // infinity becomes the largest
  }
};
struct HalvesOfE4m3 {
  [[gnu::always_inline]] static Halves halves(Halves bytes) {
    const Halves number = reinterpret_cast<Halves>(reinterpret_cast<SignedHalves>(bytes) >> 1) & 0xbf80;
    // All ones are NaN: only there does adding one reach the highest bit of the exponent.
    return number | ((number + 0x80) & 0x4000);
  }
  [[gnu::always_inline]] static Bytes bytes(Halves even, Halves odd) {
    const auto sign = reinterpret_cast<Bytes>(((even >> 8) & 0x80) | (odd & 0x8000));
    // Without the sign there is space for one more bit of exponent than an element has.
    const auto size = reinterpret_cast<Bytes>(((roundedHalves<7>(even) >> 7) & 0xff) |
                                              ((roundedHalves<7>(odd) << 1) & 0xff00));
    const Bytes largest = Bytes{} + 0x7e, nan = Bytes{} + 0x7f;
    const Bytes limited = size < largest ? size : largest;
    return sign | (size >= 0xf8 ? nan : limited);
  }
};

}  // namespace
}  // namespace xylem::collectives
