// The loops behind every Reduction. Each file that includes this one compiles them for one kind of processor,
// so all of it lies in an anonymous namespace and uses no function of other headers: one compiled for a newer
// processor must not be linked into code that runs on an older one.

namespace xylem {
namespace {

#include "collectives/small_floats.inl"

// Elements as they lie in memory: at any address, as any type.
template <typename T>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  T value;
};

// How one data type is stored, and computed with.
template <typename T>
struct Whole {
  using Stored = T;
  using Value = T;
  static constexpr bool kInteger = T(0.5) == T(0);
  static Value load(Stored v) { return v; }
  static Stored store(Value v) { return v; }
};
template <typename StoredType, typename Conversion>
struct Small {
  using Stored = StoredType;
  using Value = float;
  static constexpr bool kInteger = false;
  static Value load(Stored v) { return Conversion::load(v); }
  static Stored store(Value v) { return Conversion::store(v); }
};

template <typename T>
struct UnsignedOf {
  using Type = T;
};
template <>
struct UnsignedOf<std::int8_t> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<std::uint8_t> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<std::int64_t> {
  using Type = std::uint64_t;
};

// Integers wrap around: they are combined as unsigned ones.
template <ReduceOp kOp, typename T>
inline T combineValues(T a, T b) {
  using U = typename UnsignedOf<T>::Type;
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

template <typename Element, ReduceOp kOp>
inline typename Element::Value enterValue(typename Element::Value own, typename Element::Value scale) {
  if constexpr (kOp == ReduceOp::kAvg && !Element::kInteger)
    return own * scale;
  else
    return own;
}

template <typename Element, ReduceOp kOp>
inline typename Element::Value finishValue(typename Element::Value sum, std::int64_t divisor) {
  using Value = typename Element::Value;
  if constexpr (kOp == ReduceOp::kAvg && Element::kInteger) {
    if constexpr (Value(-1) < Value(0))
      return static_cast<Value>(static_cast<std::int64_t>(sum) / divisor);
    else
      return static_cast<Value>(static_cast<std::uint64_t>(sum) / static_cast<std::uint64_t>(divisor));
  } else {
    return sum;
  }
}

template <typename Element>
using Pointer = Unaligned<typename Element::Stored>*;
template <typename Element>
using ConstPointer = const Unaligned<typename Element::Stored>*;

template <typename Element, ReduceOp kOp>
void enterLoop(void* outBytes, const void* ownBytes, std::size_t n, Factor factor) {
  auto* out = static_cast<Pointer<Element>>(outBytes);
  const auto* own = static_cast<ConstPointer<Element>>(ownBytes);
  const auto scale = static_cast<typename Element::Value>(factor.scale);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i)
    out[i].value = Element::store(enterValue<Element, kOp>(Element::load(own[i].value), scale));
}

void copyLoop(void* out, const void* own, std::size_t bytes) {
  if (out != own) __builtin_memcpy(out, own, bytes);
}
template <typename Element>
void plainEnter(void* out, const void* own, std::size_t n, Factor) {
  copyLoop(out, own, n * sizeof(typename Element::Stored));
}

template <typename Element, ReduceOp kOp>
void combineLoop(void* outBytes, const void* incomingBytes, const void* ownBytes, std::size_t n,
                 Factor factor) {
  auto* out = static_cast<Pointer<Element>>(outBytes);
  const auto* incoming = static_cast<ConstPointer<Element>>(incomingBytes);
  const auto* own = static_cast<ConstPointer<Element>>(ownBytes);
  const auto scale = static_cast<typename Element::Value>(factor.scale);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const auto mine = enterValue<Element, kOp>(Element::load(own[i].value), scale);
    out[i].value = Element::store(combineValues<kOp>(Element::load(incoming[i].value), mine));
  }
}

template <typename Element, ReduceOp kOp>
void finishLoop(void* outBytes, void* copyBytes, const void* incomingBytes, const void* ownBytes,
                std::size_t n, Factor factor) {
  auto* out = static_cast<Pointer<Element>>(outBytes);
  auto* copy = static_cast<Pointer<Element>>(copyBytes);
  const auto* incoming = static_cast<ConstPointer<Element>>(incomingBytes);
  const auto* own = static_cast<ConstPointer<Element>>(ownBytes);
  const auto scale = static_cast<typename Element::Value>(factor.scale);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const auto mine = enterValue<Element, kOp>(Element::load(own[i].value), scale);
    const auto sum = combineValues<kOp>(Element::load(incoming[i].value), mine);
    const auto result = Element::store(finishValue<Element, kOp>(sum, factor.divisor));
    out[i].value = result;
    copy[i].value = result;
  }
}

template <typename Element, ReduceOp kOp>
constexpr Reduction reductionOf() {
  Reduction reduction;
  reduction.elementBytes = sizeof(typename Element::Stored);
  if constexpr (kOp == ReduceOp::kAvg && !Element::kInteger)
    reduction.enter = &enterLoop<Element, kOp>;
  else
    reduction.enter = &plainEnter<Element>;
  reduction.combine = &combineLoop<Element, kOp>;
  reduction.finish = &finishLoop<Element, kOp>;
  return reduction;
}

#define XYLEM_ROW(Element)                                                              \
  {                                                                                     \
    reductionOf<Element, ReduceOp::kSum>(), reductionOf<Element, ReduceOp::kProd>(),    \
        reductionOf<Element, ReduceOp::kMax>(), reductionOf<Element, ReduceOp::kMin>(), \
        reductionOf<Element, ReduceOp::kAvg>()                                          \
  }

using HalfElement = Small<std::uint16_t, Half>;
using Bfloat16Element = Small<std::uint16_t, Bfloat16>;
using Float8e4m3Element = Small<std::uint8_t, Float8e4m3>;
using Float8e5m2Element = Small<std::uint8_t, Float8e5m2>;

// In the order of DataType.
constexpr ReductionTable kReductions = {
    XYLEM_ROW(Whole<std::int8_t>),   XYLEM_ROW(Whole<std::uint8_t>), XYLEM_ROW(Whole<std::int32_t>),
    XYLEM_ROW(Whole<std::uint32_t>), XYLEM_ROW(Whole<std::int64_t>), XYLEM_ROW(Whole<std::uint64_t>),
    XYLEM_ROW(HalfElement),          XYLEM_ROW(Whole<float>),        XYLEM_ROW(Whole<double>),
    XYLEM_ROW(Bfloat16Element),      XYLEM_ROW(Float8e4m3Element),   XYLEM_ROW(Float8e5m2Element),
};
#undef XYLEM_ROW

}  // namespace
}  // namespace xylem
