// How each data type is stored, compared and computed with, one element at a time. Included by each file that
// compiles the reductions for one kind of processor, first of all.

namespace xylem {
namespace {

#include "runtime/collectives/small_floats.inl"

// Elements as they lie in memory: at any address, as any type.
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

// Integers wrap around: they are combined as unsigned ones, of 32 bits at least, so that no product
// overflows an int.
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

// Computed with as 32-bit floats.
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

// The same types where one of two elements is the result, maximum and minimum: their bits say which, and what
// conversions would have made of it. All in the width of the element, as many to a vector as there can be.
template <typename StoredType, typename SignedType, typename Conversion>
struct Ordered {
  using Stored = StoredType;
  using Value = StoredType;
  static constexpr bool kInteger = false;
  static Value load(Stored v) { return v; }
  static Stored store(Value v) { return v; }

  static Stored magnitude(Stored v) { return static_cast<Stored>(v & Conversion::kMagnitude); }
  static bool isNan(Stored v) { return magnitude(v) > static_cast<Stored>(Conversion::kLargestNumber); }
  // Orders numbers; both zeros are one.
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
      // Infinity, which comes out of no conversion.
      const bool infinite = magnitude(chosen) == static_cast<Stored>(Conversion::kLargestNumber);
      return static_cast<Stored>(chosen - (infinite ? 1 : 0));
    } else {
      return chosen;
    }
  }
};

// Vectors of small floats, specialised where a processor has instructions for them that compilers do not find
// by themselves.
template <typename Conversion>
struct Vectors {
  static constexpr bool kThere = false;
};

}  // namespace
}  // namespace xylem
