// The loops behind every Reduction, compiled for one kind of processor by each file that includes this one
// after reduction_elements.inl and, where there are any, vectors.
//
// Everything lies in an anonymous namespace and uses no inline function of other headers: the linker keeps
// one copy of an inline function, which might be the one compiled for a newer processor than the program runs
// on.

#include "runtime/collectives/two_outputs.inl"

// Before a loop: its iterations are independent, as its arrays are the same or do not overlap. Clang checks that when it runs.
#ifdef __clang__
#define XYLEM_INDEPENDENT
#else
#define XYLEM_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Whether the processor multiplies vectors of 64-bit integers (AVX-512 DQ): a file for such processors says so.
#ifndef XYLEM_VECTORS_MULTIPLY_64_BITS
#define XYLEM_VECTORS_MULTIPLY_64_BITS 0
#endif

namespace xylem::collectives {
namespace {

// Division of many integers by one divisor, towards zero, by a multiplication, which compilers vectorize.
//
// For n-bit unsigned u and d and k = floor(log2(d)), floor(u / d) is (u * m + c) >> (n + k), where m is the
// next integer above 2^(n+k) / d and c = 0 if that is near enough, and otherwise m is the next integer below
// and c = m. (A. Robison, "N-bit unsigned division via n-bit multiply-add", ARITH 17, 2005.)

__extension__ using Uint128 = unsigned __int128;

// Bytes are few: for all of them and d < 256 floor(u / d) is (u * m) >> 16, where m is 2^16 / d rounded up.
template <typename T>
struct Quotient {
  using U = typename UnsignedOf<T>::Type;
  static constexpr int kBits = 8 * sizeof(T);

  U multiplier = 0;
  U addend = 0;
  int shift = 0;  // beyond kBits
  std::uint16_t forBytes = 0;

  explicit Quotient(std::int64_t by) {
    const auto divisor = static_cast<std::uint64_t>(by);
    shift = 63 - __builtin_clzll(divisor);
    if (shift >= kBits) {  // larger than any value: the quotient is 0
      shift = 0;
      return;
    }
    forBytes = static_cast<std::uint16_t>(0xffff / divisor + 1);
    const Uint128 power = Uint128{1} << (kBits + shift);
    const Uint128 below = power / divisor;
    const auto over = static_cast<std::uint64_t>(power % divisor);
    const bool isPower = over == 0;
    const bool isUp = !isPower && divisor - over <= std::uint64_t{1} << shift;
    multiplier = static_cast<U>(below + (isUp ? 1 : isPower ? -1 : 0));
    addend = isUp ? U{0} : multiplier;
  }

  U of(U value) const {
    if constexpr (kBits == 64)
      return upperHalf(value) >> shift;
    else if constexpr (kBits == 32)
      return static_cast<U>((std::uint64_t{value} * multiplier + addend) >> (kBits + shift));
    else
      return static_cast<U>(std::uint32_t{value} * forBytes >> 16);
  }
  T ofSigned(T value) const {
    if constexpr (T(-1) < T(0) && kVectorized) {
      // Without a choice between two values: the sign of a negative one is a word of ones.
      const auto sign = static_cast<U>(value >> (kBits - 1));
      const U size = of(static_cast<U>((static_cast<U>(value) ^ sign) - sign));
      return static_cast<T>((size ^ sign) - sign);
    } else if constexpr (T(-1) < T(0)) {
      const U size = of(static_cast<U>(value < 0 ? U{0} - static_cast<U>(value) : static_cast<U>(value)));
      return static_cast<T>(value < 0 ? U{0} - size : size);
    } else {
      return of(value);
    }
  }

 private:
  static constexpr bool kVectorized = kBits < 64 || XYLEM_VECTORS_MULTIPLY_64_BITS;
  // The upper 64 bits of value * multiplier + addend.
  std::uint64_t upperHalf(std::uint64_t value) const {
    if constexpr (!kVectorized)
      return static_cast<std::uint64_t>((Uint128{value} * multiplier + addend) >> 64);
    // Vectors keep the lower 64 bits of a product. No sum overflows.
    constexpr std::uint64_t kLower = 0xffffffff;
    const std::uint64_t low = value & kLower, high = value >> 32;
    const std::uint64_t byLow = multiplier & kLower, byHigh = std::uint64_t{multiplier} >> 32;
    const std::uint64_t middle = high * byLow + (std::uint64_t{addend} >> 32);
    const std::uint64_t lower = ((low * byLow + (addend & kLower)) >> 32) + (middle & kLower) + low * byHigh;
    return high * byHigh + (middle >> 32) + (lower >> 32);
  }
};

// The same by a power of two, which 2, 4 or 8 ranks have: a shift, before which negative numbers get what it would take from them. Not for
// divisors larger than any value.
template <typename T>
struct Shifted {
  int shift;
  T below;

  static bool suits(std::int64_t by) {
    return (by & (by - 1)) == 0 &&
           static_cast<std::uint64_t>(by) - 1 <= static_cast<typename UnsignedOf<T>::Type>(-1) >> 1;
  }
  explicit Shifted(std::int64_t by)
      : shift(63 - __builtin_clzll(static_cast<std::uint64_t>(by))), below(static_cast<T>(by - 1)) {}

  T ofSigned(T value) const {
    if constexpr (T(-1) < T(0))
      return static_cast<T>(static_cast<T>(value + (static_cast<T>(value >> (8 * sizeof(T) - 1)) & below)) >>
                            shift);
    else
      return static_cast<T>(value >> shift);
  }
};

struct Undivided {
  explicit Undivided(std::int64_t) {}
  template <typename T>
  T ofSigned(T value) const {
    return value;
  }
};
// Whether the loop uses Vectors. Maximum and minimum of small floats need none: they compare elements as they
// are.
template <typename Element, ReduceOp kOp>
constexpr bool kInVectors = false;
template <typename Stored, typename Conversion, ReduceOp kOp>
constexpr bool kInVectors<Small<Stored, Conversion>, kOp> = Vectors<Conversion>::kAvailable;

// The loop over elements with Vectors: out = incoming (op) own, one block at a time. Without `incoming`, own elements are only scaled.
template <typename Element, ReduceOp kOp, bool kCombines>
[[gnu::always_inline]] inline void combineBlock(std::byte* out, const std::byte* incoming,
                                                const std::byte* own, float scale) {
  using V = Vectors<typename Element::Conversion>;
  auto result = V::load(own);
  if constexpr (kScales<Element, kOp>)
    for (auto& part : result.parts) part = part * scale;
  if constexpr (kCombines) {
    const auto other = V::load(incoming);
    for (int i = 0; i < V::kParts; ++i) {
      if constexpr (kOp == ReduceOp::kProd)
        result.parts[i] = other.parts[i] * (result.parts[i] * V::kProductScale);
      else
        result.parts[i] = other.parts[i] + result.parts[i];
    }
  }
  constexpr bool kFewBits = !kScales<Element, kOp>;
  V::template store<kFewBits>(out, result);
}

template <typename Element, ReduceOp kOp, bool kCombines>
void vectorLoop(void* outBytes, const void* incomingBytes, const void* ownBytes, std::size_t n, float scale) {
  constexpr std::size_t kBytes = sizeof(typename Element::Stored);
  constexpr std::size_t kBlock = Vectors<typename Element::Conversion>::kBytes;
  auto* out = static_cast<std::byte*>(outBytes);
  const auto* incoming = static_cast<const std::byte*>(incomingBytes);
  const auto* own = static_cast<const std::byte*>(ownBytes);
  const std::size_t bytes = n * kBytes;
  std::size_t at = 0;
  for (; at + kBlock <= bytes; at += kBlock)
    combineBlock<Element, kOp, kCombines>(out + at, kCombines ? incoming + at : nullptr, own + at, scale);
  if (const std::size_t rest = bytes - at; rest != 0) {
    alignas(64) std::byte lastOwn[kBlock] = {}, lastIncoming[kBlock] = {}, last[kBlock];
    __builtin_memcpy(lastOwn, own + at, rest);
    if (kCombines) __builtin_memcpy(lastIncoming, incoming + at, rest);
    combineBlock<Element, kOp, kCombines>(last, lastIncoming, lastOwn, scale);
    __builtin_memcpy(out + at, last, rest);
  }
}

template <typename Element>
using Pointer = Unaligned<typename Element::Stored>*;
template <typename Element>
using ConstPointer = const Unaligned<typename Element::Stored>*;

void copyLoop(void* out, const void* own, std::size_t bytes) {
  if (out != own && bytes > 0) __builtin_memcpy(out, own, bytes);
}

template <typename Element, ReduceOp kOp>
void enter(void* outBytes, const void* ownBytes, std::size_t n, Factor factor) {
  if constexpr (!kScales<Element, kOp>) {
    copyLoop(outBytes, ownBytes, n * sizeof(typename Element::Stored));
  } else if constexpr (kInVectors<Element, kOp>) {
    vectorLoop<Element, kOp, false>(outBytes, nullptr, ownBytes, n, scaleOf<Element, kOp>(factor));
  } else {
    auto* out = static_cast<Pointer<Element>>(outBytes);
    const auto* own = static_cast<ConstPointer<Element>>(ownBytes);
    const auto scale = scaleOf<Element, kOp>(factor);
    XYLEM_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i)
      out[i].value = Element::store(enterValue<Element, kOp>(Element::load(own[i].value), scale));
  }
}

template <typename Element, ReduceOp kOp, typename Division = Undivided>
void resultLoop(void* outBytes, const void* incomingBytes, const void* ownBytes, std::size_t n,
                Factor factor) {
  const auto scale = scaleOf<Element, kOp>(factor);
  if constexpr (kInVectors<Element, kOp>) {
    vectorLoop<Element, kOp, true>(outBytes, incomingBytes, ownBytes, n, scale);
  } else {
    auto* out = static_cast<Pointer<Element>>(outBytes);
    const auto* incoming = static_cast<ConstPointer<Element>>(incomingBytes);
    const auto* own = static_cast<ConstPointer<Element>>(ownBytes);
    const Division quotient(factor.divisor);
    XYLEM_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const auto sum = combineElements<Element, kOp>(incoming[i].value, own[i].value, scale);
      out[i].value = Element::store(quotient.ofSigned(sum));
    }
  }
}

template <typename Element, ReduceOp kOp>
void combine(void* out, const void* incoming, const void* own, std::size_t n, Factor factor) {
  resultLoop<Element, kOp>(out, incoming, own, n, factor);
}

template <typename Element, ReduceOp kOp>
void lastLoop(void* out, const void* incoming, const void* own, std::size_t n, Factor factor) {
  if constexpr (!kDivides<Element, kOp>)
    combine<Element, kOp>(out, incoming, own, n, factor);
  else if (Shifted<typename Element::Value>::suits(factor.divisor))
    resultLoop<Element, kOp, Shifted<typename Element::Value>>(out, incoming, own, n, factor);
  else
    resultLoop<Element, kOp, Quotient<typename Element::Value>>(out, incoming, own, n, factor);
}

template <typename Element, ReduceOp kOp>
void finish(void* outBytes, void* copy, const void* incomingBytes, const void* ownBytes, std::size_t n,
            Factor factor) {
  constexpr std::size_t kBytes = sizeof(typename Element::Stored);
  auto* out = static_cast<std::byte*>(outBytes);
  const auto* incoming = static_cast<const std::byte*>(incomingBytes);
  const auto* own = static_cast<const std::byte*>(ownBytes);
  intoBoth(out, static_cast<std::byte*>(copy), n * kBytes, [&](std::size_t begin, std::size_t end) {
    lastLoop<Element, kOp>(out + begin, incoming + begin, own + begin, (end - begin) / kBytes, factor);
  });
}

// Whether the sum of several elements is rounded less often if they are added up as Values.
template <typename Element, ReduceOp kOp>
constexpr bool kSumsAll = false;
template <typename Stored, typename Conversion, ReduceOp kOp>
constexpr bool kSumsAll<Small<Stored, Conversion>, kOp> =
    kOp == ReduceOp::kSum || kOp == ReduceOp::kAvg || kOp == kPreMul;

// One block of Vectors at offset `at` of all sources.
template <typename Element, ReduceOp kOp>
[[gnu::always_inline]] inline auto sumBlock(const std::byte* const* sources, const float* scales, int ranks,
                                            std::size_t at) {
  using V = Vectors<typename Element::Conversion>;
  auto sum = V::load(sources[0] + at);
  for (int i = 0; i < V::kParts; ++i)
    if constexpr (kScales<Element, kOp>) sum.parts[i] = sum.parts[i] * scales[0];
  for (int rank = 1; rank < ranks; ++rank) {
    const auto own = V::load(sources[rank] + at);
    for (int i = 0; i < V::kParts; ++i)
      sum.parts[i] = sum.parts[i] + (kScales<Element, kOp> ? own.parts[i] * scales[rank] : own.parts[i]);
  }
  return sum;
}

// Bytes `begin` to `end` - 1.
template <typename Element, ReduceOp kOp>
void sumAllInVectors(std::byte* out, const std::byte* const* sources, const float* scales, int ranks,
                     std::size_t begin, std::size_t end) {
  using V = Vectors<typename Element::Conversion>;
  std::size_t at = begin;
  for (; at + V::kBytes <= end; at += V::kBytes)
    V::template store<false>(out + at, sumBlock<Element, kOp>(sources, scales, ranks, at));
  if (const std::size_t rest = end - at; rest != 0) {
    alignas(64) std::byte last[Reduction::kMaxSummed][V::kBytes];
    const std::byte* lasts[Reduction::kMaxSummed] = {};
    for (int rank = 0; rank < ranks; ++rank) {
      __builtin_memset(last[rank], 0, V::kBytes);
      __builtin_memcpy(last[rank], sources[rank] + at, rest);
      lasts[rank] = last[rank];
    }
    alignas(64) std::byte result[V::kBytes];
    V::template store<false>(result, sumBlock<Element, kOp>(lasts, scales, ranks, 0));
    __builtin_memcpy(out + at, result, rest);
  }
}

// Without Vectors: adds up a block of elements rank by rank.
template <typename Element, ReduceOp kOp>
void sumAllInBlocks(std::byte* outBytes, const std::byte* const* sources, const float* scales, int ranks,
                    std::size_t begin, std::size_t end) {
  constexpr std::size_t kBlock = 512;
  float sums[kBlock];
  auto* out = reinterpret_cast<Pointer<Element>>(outBytes);
  const std::size_t n = end / sizeof(typename Element::Stored);
  for (std::size_t start = begin / sizeof(typename Element::Stored); start < n; start += kBlock) {
    const std::size_t length = n - start < kBlock ? n - start : kBlock;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto* own = reinterpret_cast<ConstPointer<Element>>(sources[rank]) + start;
      const float scale = scales[rank];
      if (rank == 0)
        for (std::size_t i = 0; i < length; ++i)
          sums[i] = enterValue<Element, kOp>(Element::load(own[i].value), scale);
      else
        for (std::size_t i = 0; i < length; ++i)
          sums[i] += enterValue<Element, kOp>(Element::load(own[i].value), scale);
    }
    for (std::size_t i = 0; i < length; ++i) out[start + i].value = Element::store(sums[i]);
  }
}

template <typename Element, ReduceOp kOp>
void sumAll(void* outBytes, void* copy, const std::byte* const* sources, const Factor* factors,
            int ranks, std::size_t n) {
  float scales[Reduction::kMaxSummed];
  for (int rank = 0; rank < ranks; ++rank) scales[rank] = scaleOf<Element, kOp>(factors[rank]);
  auto* out = static_cast<std::byte*>(outBytes);
  const std::size_t bytes = n * sizeof(typename Element::Stored);
  intoBoth(out, static_cast<std::byte*>(copy), bytes, [&](std::size_t begin, std::size_t end) {
    if constexpr (kInVectors<Element, kOp>)
      sumAllInVectors<Element, kOp>(out, sources, scales, ranks, begin, end);
    else
      sumAllInBlocks<Element, kOp>(out, sources, scales, ranks, begin, end);
  });
}

template <typename Element, ReduceOp kOp>
constexpr Reduction reductionOf() {
  // Ready elements have been scaled already.
  constexpr ReduceOp kReady = kScales<Element, kOp> ? ReduceOp::kSum : kOp;
  Reduction reduction;
  reduction.elementBytes = sizeof(typename Element::Stored);
  reduction.scales = kScales<Element, kOp>;
  reduction.enter = &enter<Element, kOp>;
  reduction.combine = &combine<Element, kOp>;
  reduction.merge = &combine<Element, kReady>;
  reduction.finish = &finish<Element, kOp>;
  reduction.finishMerge = &finish<Element, kReady>;
  if constexpr (kSumsAll<Element, kOp>) reduction.sumAll = &sumAll<Element, kOp>;
  return reduction;
}

#define XYLEM_ROW(TYPE)                                                      \
  {                                                                          \
    reductionOf<ElementsOf<DataType::TYPE>::Element, ReduceOp::kSum>(),      \
        reductionOf<ElementsOf<DataType::TYPE>::Element, ReduceOp::kProd>(), \
        reductionOf<ElementsOf<DataType::TYPE>::Compared, ReduceOp::kMax>(), \
        reductionOf<ElementsOf<DataType::TYPE>::Compared, ReduceOp::kMin>(), \
        reductionOf<ElementsOf<DataType::TYPE>::Element, ReduceOp::kAvg>(),  \
        reductionOf<ElementsOf<DataType::TYPE>::Element, kPreMul>()          \
  }
// In the order of DataType.
constexpr ReductionTable kReductions = {
    XYLEM_ROW(kInt8),    XYLEM_ROW(kUint8),    XYLEM_ROW(kInt32),      XYLEM_ROW(kUint32),
    XYLEM_ROW(kInt64),   XYLEM_ROW(kUint64),   XYLEM_ROW(kFloat16),    XYLEM_ROW(kFloat32),
    XYLEM_ROW(kFloat64), XYLEM_ROW(kBfloat16), XYLEM_ROW(kFloat8e4m3), XYLEM_ROW(kFloat8e5m2),
};
#undef XYLEM_INDEPENDENT
#undef XYLEM_ROW

}  // namespace
}  // namespace xylem::collectives
