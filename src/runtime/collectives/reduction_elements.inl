// How each data type is stored, compared and computed with, one element at a time. Each file that compiles
// the reductions for one kind of processor includes this one first.

namespace xylem::collectives {
namespace {

// Conversions between 32-bit floats and smaller ones, without branches (hence | for ||), so that compilers
// vectorize loops over them.

inline float floatOf(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline std::uint32_t bitsOf(float value) { return __builtin_bit_cast(std::uint32_t, value); }

// kExponent and kMantissa: bits of each. A type without infinities saturates: values that are too large
// become the largest finite one, as CUDA's conversions do by default.
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
// No infinities: the one pattern with all bits set is NaN, and none lies beyond it.
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

// An element in memory: at any address, accessed as any type.
template <typename T>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  T value;
};

template <typename T>
struct UnsignedOf {
  using Type = T;
};
template <>
struct UnsignedOf<std::int8_t> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOf<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<std::int64_t> {
  using Type = std::uint64_t;
};

template <typename T>
constexpr bool kIsInteger = T(0.5) == T(0);

// Integers wrap around: they are combined as unsigned integers of at least 32 bits, so that no product
// overflows an int. Of a number and a NaN, maximum and
// minimum take the number.
template <ReduceOp kOp, typename T>
inline T combineValues(T a, T b) {
  using U = decltype(typename UnsignedOf<T>::Type() + (kIsInteger<T> ? 0u : T()));
  if constexpr (kOp == ReduceOp::kProd) {
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else if constexpr (kOp == ReduceOp::kMax) {
    return (a > b || b != b) ? a : b;
  } else if constexpr (kOp == ReduceOp::kMin) {
    return (a < b || b != b) ? a : b;
  } else {
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
}

template <typename T>
struct Whole {
  using Stored = T;
  using Value = T;
  static constexpr bool kInteger = kIsInteger<T>;
  static Value load(Stored v) { return v; }
  static Stored store(Value v) { return v; }
  template <ReduceOp kOp>
  static Value combine(Value a, Value b) {
    return combineValues<kOp>(a, b);
  }
};

// Small floats, which are combined as 32-bit floats.
template <typename StoredType, typename ConversionType>
struct Small {
  using Stored = StoredType;
  using Value = float;
  using Conversion = ConversionType;
  static constexpr bool kInteger = false;
  static Value load(Stored v) { return Conversion::load(v); }
  static Stored store(Value v) { return Conversion::store(v); }
  template <ReduceOp kOp>
  static Value combine(Value a, Value b) {
    return combineValues<kOp>(a, b);
  }
};

// Small floats under maximum and minimum, where the result is one of the two elements: their bits say which,
// without a conversion. Computing in the width of the element puts the most elements into a vector.
template <typename StoredType, typename SignedType, typename Conversion>
struct Ordered {
  using Stored = StoredType;
  using Value = StoredType;
  static constexpr bool kInteger = false;
  static Value load(Stored v) { return v; }
  static Stored store(Value v) { return v; }

  static Stored magnitude(Stored v) { return static_cast<Stored>(v & Conversion::kMagnitude); }
  static bool isNan(Stored v) { return magnitude(v) > static_cast<Stored>(Conversion::kLargestNumber); }
  // An integer in the order of the numbers; both zeros are equal.
  static SignedType rank(Stored v) {
    const auto up = static_cast<SignedType>(magnitude(v));
    const auto down = static_cast<SignedType>(-up);
    return static_cast<SignedType>(v) < 0 ? down : up;
  }

  template <ReduceOp kOp>
  static Value combine(Value a, Value b) {
    const bool wins = kOp == ReduceOp::kMax ? rank(a) > rank(b) : rank(a) < rank(b);
    const Stored chosen = ((wins & !isNan(a)) | isNan(b)) ? a : b;
    if constexpr (Conversion::kSaturate && Conversion::kLargestNumber > Conversion::kLargestFinite) {
      // A conversion would have turned infinity into the largest finite value.
      const bool infinite = magnitude(chosen) == static_cast<Stored>(Conversion::kLargestNumber);
      return static_cast<Stored>(chosen - (infinite ? 1 : 0));
    } else {
      return chosen;
    }
  }
};

// Vectors of small floats. Specialised (small_float_vectors.inl) for processors with instructions for them
// that compilers do not use by themselves.
template <typename Conversion>
struct Vectors {
  static constexpr bool kAvailable = false;
};

}  // namespace
}  // namespace xylem::collectives
