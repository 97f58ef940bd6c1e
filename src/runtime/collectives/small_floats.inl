// Conversions between 32-bit floats and smaller ones, without branches (hence | for ||), so that compilers
// vectorize loops over them. Included inside an anonymous namespace by reduction_elements.inl.

inline float floatOf(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline std::uint32_t bitsOf(float value) { return __builtin_bit_cast(std::uint32_t, value); }

// kExponent and kMantissa: bits of each. Types without infinities saturate: what is too large becomes the
// largest finite value, as CUDA's conversions do by default.
template <typename Bits, int kExponent, int kMantissa, std::uint32_t kLargest, std::uint32_t kInfinity,
          std::uint32_t kNan, bool kSaturates>
struct SmallFloat {
  static constexpr int kMantissaBits = kMantissa;
  static constexpr std::uint32_t kLargestFinite = kLargest;
  static constexpr std::uint32_t kLargestNumber = kInfinity < kNan ? kInfinity : kNan - 1;
  static constexpr bool kSaturate = kSaturates;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr int kShift = 23 - kMantissa;
  static constexpr std::uint32_t kMagnitude = (1u << (kExponent + kMantissa)) - 1;
  static constexpr std::uint32_t kSignShift = 31 - (kExponent + kMantissa);
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  static constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(127 - kBias + 1) << 23;
  // Adding it moves the last bit of a subnormal to the last bit of the sum, which rounds to nearest even.
  static constexpr std::uint32_t kSubnormalMagic = static_cast<std::uint32_t>(127 - kBias + 1 + kShift) << 23;

  static float load(Bits stored) {
    const std::uint32_t magnitude = stored & kMagnitude;
    const std::uint32_t sign = (stored & (kMagnitude + 1)) << kSignShift;
    // A subnormal is its mantissa times the smallest one.
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) *
                        floatOf(static_cast<std::uint32_t>(127 - kBias + 1 - kMantissa) << 23);
    std::uint32_t bits = (magnitude << kShift) + kRebias;
    bits = magnitude < (1u << kMantissa) ? bitsOf(small) : bits;
    bits = magnitude >= kInfinity ? 0x7f800000u : bits;
    bits = magnitude > kLargestNumber ? 0x7fc00000u : bits;
    return floatOf(bits | sign);
  }

  static Bits store(float value) {
    const std::uint32_t all = bitsOf(value);
    const std::uint32_t sign = (all & 0x80000000u) >> kSignShift;
    const std::uint32_t magnitude = all & 0x7fffffffu;
    const std::uint32_t rounded =
        magnitude - kRebias + ((1u << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1u);
    std::uint32_t bits = rounded >> kShift;
    const std::uint32_t small = bitsOf(floatOf(magnitude) + floatOf(kSubnormalMagic)) - kSubnormalMagic;
    bits = magnitude < kSmallestNormal ? small : bits;
    // 2^16 is beyond every small type; below it `bits` has not wrapped around.
    bits = ((magnitude >= 0x47800000u) | (bits > kLargest)) ? (kSaturates ? kLargest : kInfinity) : bits;
    bits = magnitude > 0x7f800000u ? kNan : bits;
    return static_cast<Bits>(bits | sign);
  }
};

using Half = SmallFloat<std::uint16_t, 5, 10, 0x7bff, 0x7c00, 0x7e00, false>;
using Float8e5m2 = SmallFloat<std::uint8_t, 5, 2, 0x7b, 0x7c, 0x7f, true>;
// No infinities: the one pattern with all bits set is NaN, and nothing lies beyond it.
using Float8e4m3 = SmallFloat<std::uint8_t, 4, 3, 0x7e, 0x80, 0x7f, true>;

// The upper half of a 32-bit float.
struct Bfloat16 {
  static constexpr std::uint32_t kMagnitude = 0x7fff;
  static constexpr std::uint32_t kLargestFinite = 0x7f7f;
  static constexpr std::uint32_t kLargestNumber = 0x7f80;
  static constexpr bool kSaturate = false;
  static float load(std::uint16_t stored) { return floatOf(static_cast<std::uint32_t>(stored) << 16); }
  static std::uint16_t store(float value) {
    const std::uint32_t all = bitsOf(value);
    const std::uint32_t rounded = (all + 0x7fffu + ((all >> 16) & 1u)) >> 16;
    return static_cast<std::uint16_t>((all & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
};
