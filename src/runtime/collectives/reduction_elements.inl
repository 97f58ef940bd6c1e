// How each data type is stored, compared and computed with, one element at a time. Each file that compiles
// the reductions for one kind of processor includes this one first, and so do the kernels for GPUs.

#include "core/shared_code.h"

namespace xylem::collectives {
namespace {

// Conversions between 32-bit floats and smaller ones, without branches (hence | for ||), so that compilers
// vectorize loops over them.

XYLEM_SHARED inline float floatOf(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
XYLEM_SHARED inline std::uint32_t bitsOf(float value) { return __builtin_bit_cast(std::uint32_t, value); }

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

  XYLEM_SHARED static float load(Bits stored) {
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

  XYLEM_SHARED static Bits store(float value) {
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

#if defined(__aarch64__) && defined(__ARM_FP16_FORMAT_IEEE) && !defined(__CUDACC__)
// Every 64-bit Arm processor converts these itself.
struct Half : SmallFloat<std::uint16_t, 5, 10, 0x7bff, 0x7c00, 0x7e00, false> {
  static float load(std::uint16_t stored) { return __builtin_bit_cast(__fp16, stored); }
  static std::uint16_t store(float value) { return __builtin_bit_cast(std::uint16_t, static_cast<__fp16>(value)); }
};
#else
using Half = SmallFloat<std::uint16_t, 5, 10, 0x7bff, 0x7c00, 0x7e00, false>;
#endif
using Float8e5m2 = SmallFloat<std::uint8_t, 5, 2, 0x7b, 0x7c, 0x7f, true>;
// No infinities: the one pattern with all bits set is NaN, and none lies beyond it.
using Float8e4m3 = SmallFloat<std::uint8_t, 4, 3, 0x7e, 0x80, 0x7f, true>;

// The upper half of a 32-bit float.
struct Bfloat16 {
  static constexpr std::uint32_t kMagnitude = 0x7fff;
  static constexpr std::uint32_t kLargestFinite = 0x7f7f;
  static constexpr std::uint32_t kLargestNumber = 0x7f80;
  static constexpr bool kSaturate = false;
  XYLEM_SHARED static float load(std::uint16_t stored) { return floatOf(static_cast<std::uint32_t>(stored) << 16); }
  XYLEM_SHARED static std::uint16_t store(float value) {
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
XYLEM_SHARED inline T combineValues(T a, T b) {
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
  XYLEM_SHARED static Value load(Stored v) { return v; }
  XYLEM_SHARED static Stored store(Value v) { return v; }
  template <ReduceOp kOp>
  XYLEM_SHARED static Value combine(Value a, Value b) {
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
  XYLEM_SHARED static Value load(Stored v) { return Conversion::load(v); }
  XYLEM_SHARED static Stored store(Value v) { return Conversion::store(v); }
  template <ReduceOp kOp>
  XYLEM_SHARED static Value combine(Value a, Value b) {
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
  XYLEM_SHARED static Value load(Stored v) { return v; }
  XYLEM_SHARED static Stored store(Value v) { return v; }

  XYLEM_SHARED static Stored magnitude(Stored v) { return static_cast<Stored>(v & Conversion::kMagnitude); }
  XYLEM_SHARED static bool isNan(Stored v) { return magnitude(v) > static_cast<Stored>(Conversion::kLargestNumber); }
  // An integer in the order of the numbers; both zeros are equal.
  XYLEM_SHARED static SignedType rank(Stored v) {
    const auto up = static_cast<SignedType>(magnitude(v));
    const auto down = static_cast<SignedType>(-up);
    return static_cast<SignedType>(v) < 0 ? down : up;
  }

  template <ReduceOp kOp>
  XYLEM_SHARED static Value combine(Value a, Value b) {
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

// The pre-multiplied sum as an operation of its own.
constexpr auto kPreMul = static_cast<ReduceOp>(kPreMulSum);

template <typename Element, ReduceOp kOp>
constexpr bool kScales = kOp == kPreMul || (kOp == ReduceOp::kAvg && !Element::kInteger);

// The factor of own elements on their way in.
template <typename Element, ReduceOp kOp>
XYLEM_SHARED inline typename Element::Value scaleOf(const Factor& factor) {
  if constexpr (kOp == kPreMul) {
    typename Element::Stored stored{};
    __builtin_memcpy(&stored, &factor.element, sizeof stored);
    return Element::load(stored);
  } else {
    return static_cast<typename Element::Value>(factor.scale);
  }
}

template <typename Element, ReduceOp kOp>
XYLEM_SHARED inline typename Element::Value enterValue(typename Element::Value own, typename Element::Value scale) {
  if constexpr (kScales<Element, kOp>)
    return combineValues<ReduceOp::kProd>(own, scale);
  else
    return own;
}

// Averages of integers are divided at the end.
template <typename Element, ReduceOp kOp>
constexpr bool kDivides = kOp == ReduceOp::kAvg && Element::kInteger;

// One combination of one element, not yet stored. `own` is as its rank has it.
template <typename Element, ReduceOp kOp>
XYLEM_SHARED inline typename Element::Value combineElements(typename Element::Stored incoming,
                                                            typename Element::Stored own,
                                                            typename Element::Value scale) {
  const auto mine = enterValue<Element, kOp>(Element::load(own), scale);
  return Element::template combine<kOp>(Element::load(incoming), mine);
}

// How the elements of each data type are computed with: `Compared` under maximum and minimum, `Element` elsewhere.
template <typename ElementType, typename ComparedType = ElementType>
struct ElementPair {
  using Element = ElementType;
  using Compared = ComparedType;
};
template <DataType kType>
struct ElementsOf;
template <>
struct ElementsOf<DataType::kInt8> : ElementPair<Whole<std::int8_t>> {};
template <>
struct ElementsOf<DataType::kUint8> : ElementPair<Whole<std::uint8_t>> {};
template <>
struct ElementsOf<DataType::kInt32> : ElementPair<Whole<std::int32_t>> {};
template <>
struct ElementsOf<DataType::kUint32> : ElementPair<Whole<std::uint32_t>> {};
template <>
struct ElementsOf<DataType::kInt64> : ElementPair<Whole<std::int64_t>> {};
template <>
struct ElementsOf<DataType::kUint64> : ElementPair<Whole<std::uint64_t>> {};
template <>
struct ElementsOf<DataType::kFloat32> : ElementPair<Whole<float>> {};
template <>
struct ElementsOf<DataType::kFloat64> : ElementPair<Whole<double>> {};
template <>
struct ElementsOf<DataType::kFloat16> : ElementPair<Small<std::uint16_t, Half>, Ordered<std::uint16_t, std::int16_t, Half>> {};
template <>
struct ElementsOf<DataType::kBfloat16> : ElementPair<Small<std::uint16_t, Bfloat16>, Ordered<std::uint16_t, std::int16_t, Bfloat16>> {};
template <>
struct ElementsOf<DataType::kFloat8e4m3> : ElementPair<Small<std::uint8_t, Float8e4m3>, Ordered<std::uint8_t, std::int8_t, Float8e4m3>> {};
template <>
struct ElementsOf<DataType::kFloat8e5m2> : ElementPair<Small<std::uint8_t, Float8e5m2>, Ordered<std::uint8_t, std::int8_t, Float8e5m2>> {};

// Vectors of small floats. Specialised (small_float_vectors.inl) for processors with instructions for them
// that compilers do not use by themselves.
template <typename Conversion>
struct Vectors {
  static constexpr bool kAvailable = false;
};

}  // namespace
}  // namespace xylem::collectives
