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
  static constexpr std::size_t kBytes = sizeof(FewHalves);
  static constexpr float kProductScale = 1;

  [[gnu::always_inline]] static Block<1> load(const void* from) {
    return {{floatsOf(loadVector<FewHalves>(from))}};
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
// this scale; in both types the smallest normal number is 2^-14, also of the 16-bit floats. Elements of even and of odd index are in
// vectors of their own, as above.
//
// A sum or a product of two elements has few enough bits that rounding it to a 16-bit float first changes
// nothing. Anything else is cut off there, after its lower bits have been gathered in one bit.
template <typename Conversion, int kMantissa>
struct ByteVectors {
  static constexpr bool kAvailable = true;
  static constexpr int kParts = 4;  // even elements, odd ones
  static constexpr std::size_t kBytes = sizeof(Halves);

  // Sets the second bit below the element's last one if that or any lower bit is set, which says for the rounding on which side of a tie
  // the value is. Cutting off does not lose that bit, but of values that are too small for anything but zero.
  [[gnu::always_inline]] static Floats gathered(Floats value) {
    constexpr std::uint32_t kBelow = (1u << (23 - kMantissa - 2)) - 1;
    const auto bits = reinterpret_cast<Words>(value);
    return reinterpret_cast<Floats>((bits | ((bits & kBelow) + kBelow)) & ~kBelow);
  }
  template <bool kFewBits>
  [[gnu::always_inline]] static Halves halvesOfBoth(Floats lower, Floats upper) {
    if constexpr (kFewBits)
      return joined(halvesOf(lower), halvesOf(upper));
    else
      return joined(truncatedHalvesOf(gathered(lower)), truncatedHalvesOf(gathered(upper)));
  }
  [[gnu::always_inline]] static Block<4> load(const void* from) {
    const auto both = loadVector<Halves>(from);
    const Halves even = Conversion::halves(both << 8), odd = Conversion::halves(both);
    return {{floatsOf(lowerPart(even)), floatsOf(upperPart(even)), floatsOf(lowerPart(odd)),
             floatsOf(upperPart(odd))}};
  }
  template <bool kFewBits>
  [[gnu::always_inline]] static void store(void* to, const Block<4>& block) {
    const Halves even = halvesOfBoth<kFewBits>(block.parts[0], block.parts[1]);
    const Halves odd = halvesOfBoth<kFewBits>(block.parts[2], block.parts[3]);
    storeVector(to, Conversion::bytes(even, odd));
  }
};

template <>
struct Vectors<Float8e5m2> : ByteVectors<HalvesOfE5m2, 2> {
  static constexpr float kProductScale = 1;
};
// Nothing becomes as large as a 16-bit float's infinity, which would be NaN here: a scaled element is at most 448 / 2^8 * 448.
static_assert(1.75 * 448 * Reduction::kMaxSummed < 63488);
template <>
struct Vectors<Float8e4m3> : ByteVectors<HalvesOfE4m3, 3> {
  static constexpr float kProductScale = 256;
};

}  // namespace
}  // namespace xylem::collectives
