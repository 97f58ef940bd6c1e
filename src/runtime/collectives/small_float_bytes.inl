// 8-bit floats as 16-bit ones, which have the same bits in another position, and back with one rounding. Builds on the vector types that the
// including file defines before: Halves and SignedHalves, of 16-bit integers, and Bytes of the same size; and on smallerBytes() and
// lowerAndUpperBytes().

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
    const Bytes both = lowerAndUpperBytes(roundedHalves<8>(even) >> 8, roundedHalves<8>(odd));
    const auto infinite = reinterpret_cast<Bytes>((both & 0x7f) == 0x7c);  // all ones
    return both + infinite;                                                // the largest number
  }
};
struct HalvesOfE4m3 {
  [[gnu::always_inline]] static Halves halves(Halves bytes) {
    const Halves number = reinterpret_cast<Halves>(reinterpret_cast<SignedHalves>(bytes) >> 1) & 0xbf80;
    // All ones are NaN: only there does adding one reach the highest bit of the exponent.
    return number | ((number + 0x80) & 0x4000);
  }
  [[gnu::always_inline]] static Bytes bytes(Halves even, Halves odd) {
    const Bytes sign = lowerAndUpperBytes(even >> 8, odd) & 0x80;
    // Without the sign there is space for one more bit of exponent than an element has.
    const Bytes size = lowerAndUpperBytes(roundedHalves<7>(even) >> 7, roundedHalves<7>(odd) << 1);
    const auto nan = reinterpret_cast<Bytes>(size >= 0xf8);  // all ones
    return sign | (smallerBytes(size, Bytes{} + 0x7e) - nan);
  }
};

}  // namespace
}  // namespace xylem::collectives
