// The reductions for x86 processors that compute with 16-bit floats (AVX-512 FP16): those of reduction_avx512.cc, but for sums and products of two
// ranks' 16-bit and 8-bit floats.
//
// The results are the same. A 32-bit float holds a product of two 16-bit ones exactly; a sum that is rounded to 32 bits and then to 16 is what
// rounding to 16 gives, as 32-bit floats have 24 bits of mantissa, twice the 11 of 16-bit ones and two more. Sums and products of two 8-bit floats are
// rounded to 16 bits first in all tables. Elements that are scaled on their way in, and sums over more ranks, are made of 32-bit floats.

#include "runtime/collectives/reduction.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12

#include <immintrin.h>

#if defined(__OPTIMIZE__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512fp16,prefer-vector-width=512")

// The second builds on the first.
// clang-format off
#include "runtime/collectives/byte_vectors_avx512.inl"
#include "runtime/collectives/small_float_bytes.inl"
// clang-format on
#include "runtime/collectives/two_outputs.inl"

namespace xylem::collectives {
namespace {

constexpr std::size_t kLine = sizeof(Halves);

[[gnu::always_inline]] inline Halves load(const std::byte* from) {
  Halves halves;
  __builtin_memcpy(&halves, from, kLine);
  return halves;
}

template <ReduceOp kOp>
[[gnu::always_inline]] inline Halves combined(Halves incoming, Halves own) {
  const auto a = reinterpret_cast<__m512h>(incoming), b = reinterpret_cast<__m512h>(own);
  return reinterpret_cast<Halves>(kOp == ReduceOp::kProd ? _mm512_mul_ph(a, b) : _mm512_add_ph(a, b));
}

// How the elements of a line are combined.
struct HalfLine {
  template <ReduceOp kOp>
  [[gnu::always_inline]] static Halves combine(Halves incoming, Halves own) {
    return combined<kOp>(incoming, own);
  }
};
// Elements of even and of odd index are in vectors of their own. A 16-bit float with the bits of an element is 2^kBias times smaller than that.
template <typename Conversion, int kBias>
struct ByteLine {
  template <ReduceOp kOp>
  [[gnu::always_inline]] static Halves combine(Halves incoming, Halves own) {
    const Halves even = part<kOp>(incoming << 8, own << 8);
    const Halves odd = part<kOp>(incoming, own);
    return reinterpret_cast<Halves>(Conversion::bytes(even, odd));
  }

 private:
  template <ReduceOp kOp>
  [[gnu::always_inline]] static Halves part(Halves incoming, Halves own) {
    Halves factor = Conversion::halves(own);
    if constexpr (kOp == ReduceOp::kProd && kBias != 0) {
      constexpr std::uint16_t kPower = (15 + kBias) << 10;  // 2^kBias
      factor = combined<ReduceOp::kProd>(factor, Halves{} + kPower);
    }
    return combined<kOp>(Conversion::halves(incoming), factor);
  }
};

template <typename Line, ReduceOp kOp>
void combineLines(std::byte* out, const std::byte* incoming, const std::byte* own, std::size_t bytes) {
  std::size_t at = 0;
  for (; at + kLine <= bytes; at += kLine) {
    const Halves result = Line::template combine<kOp>(load(incoming + at), load(own + at));
    __builtin_memcpy(out + at, &result, kLine);
  }
  if (const std::size_t rest = bytes - at; rest != 0) {
    alignas(kLine) std::byte lastOwn[kLine] = {}, lastIncoming[kLine] = {};
    __builtin_memcpy(lastOwn, own + at, rest);
    __builtin_memcpy(lastIncoming, incoming + at, rest);
    const Halves result = Line::template combine<kOp>(load(lastIncoming), load(lastOwn));
    __builtin_memcpy(out + at, &result, rest);
  }
}

template <typename Line, ReduceOp kOp, std::size_t kElementBytes>
void combine(void* out, const void* incoming, const void* own, std::size_t n, Factor) {
  combineLines<Line, kOp>(static_cast<std::byte*>(out), static_cast<const std::byte*>(incoming),
                          static_cast<const std::byte*>(own), n * kElementBytes);
}

template <typename Line, ReduceOp kOp, std::size_t kElementBytes>
void finish(void* outBytes, void* copy, const void* incomingBytes, const void* ownBytes, std::size_t n,
            Factor) {
  auto* out = static_cast<std::byte*>(outBytes);
  const auto* incoming = static_cast<const std::byte*>(incomingBytes);
  const auto* own = static_cast<const std::byte*>(ownBytes);
  intoBoth(out, static_cast<std::byte*>(copy), n * kElementBytes, [&](std::size_t begin, std::size_t end) {
    combineLines<Line, kOp>(out + begin, incoming + begin, own + begin, end - begin);
  });
}

}  // namespace
}  // namespace xylem::collectives
#pragma GCC pop_options

namespace xylem::collectives {
namespace {

// Elements that are ready are added for averages and pre-multiplied sums, too.
template <typename Line, std::size_t kElementBytes>
void replace(Reduction (&ofType)[kReduceOps + 1]) {
  for (int op : {static_cast<int>(ReduceOp::kSum), static_cast<int>(ReduceOp::kAvg), kPreMulSum}) {
    ofType[op].merge = &combine<Line, ReduceOp::kSum, kElementBytes>;
    ofType[op].finishMerge = &finish<Line, ReduceOp::kSum, kElementBytes>;
  }
  Reduction& sum = ofType[static_cast<int>(ReduceOp::kSum)];
  sum.combine = sum.merge;
  sum.finish = sum.finishMerge;
  Reduction& product = ofType[static_cast<int>(ReduceOp::kProd)];
  product.combine = product.merge = &combine<Line, ReduceOp::kProd, kElementBytes>;
  product.finish = product.finishMerge = &finish<Line, ReduceOp::kProd, kElementBytes>;
}

struct Table {
  ReductionTable all;

  explicit Table(const ReductionTable& others) {
    for (int type = 0; type < kDataTypes; ++type)
      for (int op = 0; op <= kPreMulSum; ++op) all[type][op] = others[type][op];
    replace<HalfLine, 2>(all[static_cast<int>(DataType::kFloat16)]);
    replace<ByteLine<HalvesOfE4m3, 8>, 1>(all[static_cast<int>(DataType::kFloat8e4m3)]);
    replace<ByteLine<HalvesOfE5m2, 0>, 1>(all[static_cast<int>(DataType::kFloat8e5m2)]);
  }
};

}  // namespace

const ReductionTable* avx512Fp16Reductions() {
  const ReductionTable* others = avx512Reductions();
  if (others == nullptr || !__builtin_cpu_supports("avx512fp16")) return nullptr;
  static const Table table(*others);
  return &table.all;
}

}  // namespace xylem::collectives

#else

namespace xylem::collectives {

const ReductionTable* avx512Fp16Reductions() { return nullptr; }

}  // namespace xylem::collectives

#endif
