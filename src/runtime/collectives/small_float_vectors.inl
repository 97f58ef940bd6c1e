// Vectors of small floats: loading them as vectors of 32-bit floats, and storing them with one rounding.
// Builds on the vector types and functions that the including file defines before (reduction_avx2.cc,
// reduction_avx512.cc).

#include "runtime/collectives/small_float_bytes.inl"

namespace xylem::collectives {
namespace {

// One block of elements, as vectors of 32-bit floats.
template <int kParts>
struct Block {
  Floats parts[kParts];
};

template <typename V>
[[gnu::always_inline]] inline V loadVector(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <typename V>
[[gnu::always_inline]] inline void storeVector(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}

template <>
struct Vectors<Half> {
  static constexpr bool kAvailable = true;
  static constexpr int kParts = 1;
  static constexpr std::size_t kBytes = sizeof(Halves);
  static constexpr float kProductScale = 1;

  [[gnu::always_inline]] static Block<1> load(const void* from) {
    return {{floatsOf(loadVector<Halves>(from))}};
  }
  template <bool>
  [[gnu::always_inline]] static void store(void* to, const Block<1>& block) {
    storeVector(to, halvesOf(block.parts[0]));
  }
};

// Elements of even and of odd index are in vectors of their own, so that none moves to another lane of its
// vector.
template <>
struct Vectors<Bfloat16> {
  static constexpr bool kAvailable = true;
  static constexpr int kParts = 2;
  static constexpr std::size_t kBytes = sizeof(Words);
  static constexpr float kProductScale = 1;

  [[gnu::always_inline]] static Block<2> load(const void* from) {
    const auto both = loadVector<Words>(from);
    return {{reinterpret_cast<Floats>(both << 16), reinterpret_cast<Floats>(both & 0xffff0000u)}};
  }
  // The result is in the upper half of each word; the lower half is undefined. A NaN remains one: it comes from an element, or is the one that
  // the processor makes. The lower half of either is zero, and rounding adds 2^15 to that at most. AVX-512 BF16 has an instruction for this, but it takes
  // subnormal numbers for zero: results would differ from those of other processors.
  [[gnu::always_inline]] static Words rounded(Floats value) {
    return roundedUpperHalves(reinterpret_cast<Words>(value));
  }
  template <bool>
  [[gnu::always_inline]] static void store(void* to, const Block<2>& block) {
    storeVector(to, lowerAndUpperHalves(rounded(block.parts[0]) >> 16, rounded(block.parts[1])));
  }
};

// 8-bit floats are converted through 16-bit ones, which have the same bits in another position: e5m2 keeps
// its value, e4m3 is divided by 2^8, the difference of the exponents' biases. Computing with e4m3 stays in
// this scale; in both types the smallest normal number is 2^-14. Elements of even and of odd index are in
// vectors of their own, as above.
//
// A sum or a product of two elements has few enough bits that rounding it to a 16-bit float first changes
// nothing; anything else is rounded as a 32-bit float.
template <typename Conversion, int kMantissa, std::uint32_t kLargestBits>
struct ByteVectors {
  static constexpr bool kAvailable = true;
  static constexpr int kParts = 2;
  static constexpr std::size_t kBytes = sizeof(Halves);
  static constexpr std::uint32_t kSign = 0x80000000u;
  static constexpr std::uint32_t kExponent = 0x7f800000u;
  static constexpr std::uint32_t kSmallestNormal = (127 - 14) << 23;

  // Rounds to the element's mantissa, ties to even; a value that is too large becomes the largest one.
  [[gnu::always_inline]] static Floats rounded(Floats value) {
    const auto bits = reinterpret_cast<Words>(value);
    const Floats size = smallerOrNan(reinterpret_cast<Floats>(Words{} + kLargestBits),
                                     reinterpret_cast<Floats>(bits & ~kSign));
    const Words exponent = reinterpret_cast<Words>(size) & kExponent;
    const Words normal = exponent > kSmallestNormal ? exponent : Words{} + kSmallestNormal;
    // Larger than the value by just the factor that makes the last bit of the sum the element's last bit.
    const auto magic = reinterpret_cast<Floats>(normal + (static_cast<std::uint32_t>(23 - kMantissa) << 23));
    return reinterpret_cast<Floats>(reinterpret_cast<Words>((size + magic) - magic) | (bits & kSign));
  }
  [[gnu::always_inline]] static Block<2> load(const void* from) {
    const auto both = loadVector<Halves>(from);
    return {{floatsOf(Conversion::halves(both << 8)), floatsOf(Conversion::halves(both & 0xff00))}};
  }
  template <bool kFewBits>
  [[gnu::always_inline]] static void store(void* to, const Block<2>& block) {
    const Floats even = kFewBits ? block.parts[0] : rounded(block.parts[0]);
    const Floats odd = kFewBits ? block.parts[1] : rounded(block.parts[1]);
    storeVector(to, Conversion::bytes(halvesOf(even), halvesOf(odd)));
  }
};

template <>
struct Vectors<Float8e5m2> : ByteVectors<HalvesOfE5m2, 2, 0x47600000> {  // 57344
  static constexpr float kProductScale = 1;
};
template <>
struct Vectors<Float8e4m3> : ByteVectors<HalvesOfE4m3, 3, 0x3fe00000> {  // 448 / 2^8
  static constexpr float kProductScale = 256;
};

}  // namespace
}  // namespace xylem::collectives
