#pragma once
// How a thread combines elements: words of 8 bytes, which hold one to eight of them, by the host's functions for single elements
// (collectives/reduction_elements.inl). So a GPU rounds as the host device does.
//
//   Arithmetic<DataType::kFloat16> arithmetic(work);
//   value = arithmetic.combine(combinationAt(instruction, 0, 1), incoming, value);

#include "core/shared_code.h"
#include "runtime/collectives/slices.h"
#include "runtime/gpu/work.h"
// The elements need Factor and kPreMulSum.
// clang-format off
#include "runtime/collectives/reduction.h"
#include "runtime/collectives/reduction_elements.inl"
// clang-format on

#if defined(__CUDACC__)
#define XYLEM_UNROLL _Pragma("unroll")
#define XYLEM_LOOP _Pragma("unroll 1")
#else
#define XYLEM_UNROLL
#define XYLEM_LOOP
#endif

namespace xylem::gpu {

template <std::size_t kBytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using Type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using Type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = std::uint64_t;
};

template <DataType kType>
class Arithmetic {
  using Element = typename collectives::ElementsOf<kType>::Element;
  using Compared = typename collectives::ElementsOf<kType>::Compared;
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;
  using Bits = typename BitsOf<sizeof(Stored)>::Type;
  static constexpr int kElements = 8 / sizeof(Stored);
  static constexpr int kBits = 8 * sizeof(Stored);

 public:
  static constexpr bool kComputes = true;
  // How many times 16 bytes a thread has under way: the smaller the elements, the more instructions each byte takes.
  static constexpr int kUnroll = sizeof(Stored) >= 4 ? 4 : sizeof(Stored);

  XYLEM_KERNEL explicit Arithmetic(const Work& work)
      : op_(work.op), ready_(work.scales ? static_cast<int>(ReduceOp::kSum) : work.op) {
    if (work.op == collectives::kPreMulSum)
      scale_ = collectives::scaleOf<Element, collectives::kPreMul>(work.factor);
    else if constexpr (!Element::kInteger)
      scale_ = collectives::scaleOf<Element, ReduceOp::kAvg>(work.factor);
    if (Element::kInteger && work.op == static_cast<int>(ReduceOp::kAvg)) divisor_ = work.factor.divisor;
  }

  // Raw own elements, ready to be combined.
  XYLEM_KERNEL std::uint64_t enter(std::uint64_t own) const {
    return each(own, own, [this](Stored, Stored mine) {
      return Element::store(
          collectives::enterValue<Element, collectives::kPreMul>(Element::load(mine), scale_));
    });
  }

  XYLEM_KERNEL std::uint64_t combine(const collectives::Combination& c, std::uint64_t incoming,
                                     std::uint64_t own) const {
    const std::uint64_t left = c.ownLeft ? own : incoming;
    const std::uint64_t right = c.ownLeft ? incoming : own;
    const std::uint64_t sum = apply(c.raw ? op_ : ready_, left, right);
    if constexpr (Element::kInteger)
      if (c.finishes && divisor_ != 1) return divided(sum);
    return sum;
  }

 private:
  template <typename Function>
  XYLEM_KERNEL static std::uint64_t each(std::uint64_t left, std::uint64_t right, const Function& function) {
    std::uint64_t result = 0;
    XYLEM_UNROLL
    for (int i = 0; i < kElements; ++i) {
      const auto a = __builtin_bit_cast(Stored, static_cast<Bits>(left >> (i * kBits)));
      const auto b = __builtin_bit_cast(Stored, static_cast<Bits>(right >> (i * kBits)));
      const auto bits = __builtin_bit_cast(Bits, static_cast<Stored>(function(a, b)));
      result |= static_cast<std::uint64_t>(bits) << (i * kBits);
    }
    return result;
  }

  template <typename E, ReduceOp kOp>
  XYLEM_KERNEL std::uint64_t combineAll(std::uint64_t left, std::uint64_t right) const {
    typename E::Value scale{};
    if constexpr (collectives::kScales<E, kOp>) scale = scale_;
    return each(left, right, [scale](Stored a, Stored b) {
      return E::store(collectives::combineElements<E, kOp>(a, b, scale));
    });
  }

  XYLEM_KERNEL std::uint64_t apply(int op, std::uint64_t left, std::uint64_t right) const {
    switch (op) {
      case static_cast<int>(ReduceOp::kProd):
        return combineAll<Element, ReduceOp::kProd>(left, right);
      case static_cast<int>(ReduceOp::kMax):
        return combineAll<Compared, ReduceOp::kMax>(left, right);
      case static_cast<int>(ReduceOp::kMin):
        return combineAll<Compared, ReduceOp::kMin>(left, right);
      case static_cast<int>(ReduceOp::kAvg):
        // Averages of floats and pre-multiplied sums both add scaled elements; averages of integers only add.
        if constexpr (!Element::kInteger) return combineAll<Element, collectives::kPreMul>(left, right);
        break;
      case collectives::kPreMulSum:
        return combineAll<Element, collectives::kPreMul>(left, right);
      default:
        break;
    }
    return combineAll<Element, ReduceOp::kSum>(left, right);
  }

  // Towards zero. A divisor is a number of ranks. Divisions are long, and few: the loop stays one.
  XYLEM_KERNEL std::uint64_t divided(std::uint64_t sums) const {
    std::uint64_t result = 0;
    XYLEM_LOOP
    for (int i = 0; i < kElements; ++i) {
      const auto sum = __builtin_bit_cast(Stored, static_cast<Bits>(sums >> (i * kBits)));
      Bits bits;
      if constexpr (Stored(-1) < Stored(0))
        bits = static_cast<Bits>(static_cast<std::int64_t>(sum) / divisor_);
      else
        bits = static_cast<Bits>(static_cast<std::uint64_t>(sum) / static_cast<std::uint64_t>(divisor_));
      result |= static_cast<std::uint64_t>(bits) << (i * kBits);
    }
    return result;
  }

  int op_;
  int ready_;  // for elements that are ready: their scale is in them
  Value scale_{};
  std::int64_t divisor_ = 1;
};

// For slices that only move data.
struct NoArithmetic {
  static constexpr bool kComputes = false;
  static constexpr int kUnroll = 8;
  XYLEM_KERNEL explicit NoArithmetic(const Work&) {}
};

}  // namespace xylem::gpu
