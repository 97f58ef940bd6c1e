#pragma once
// How elements of one type are combined by one operation, as plain functions over arrays.
//
//   const Reduction sum = chooseReduction(DataType::kFloat32, ReduceOp::kSum, ranks);
//   sum.combine(out, incoming, own, n, sum.factor);
//
// Elements are raw, as a rank has them, or ready to be combined. An average of floats multiplies each rank's
// raw elements by 1/ranks on their way in; an average of integers divides the wrapped sum at the end, towards
// zero. A pre-multiplied sum multiplies each rank's raw elements by that rank's factor on their way in.
//
// Types smaller than 32 bits are combined in 32-bit floats, or with the same results. Rings and trees combine the elements of two ranks at a time and
// round every partial result to the element's type; sumAll adds the elements of all ranks and rounds once. The
// result of an element depends only on the values and their order, never on where it lies in a
// buffer or which processor computes it, except that NaNs may differ in their payload.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/data_type.h"

namespace xylem::collectives {

struct Factor {
  double scale = 1;                    // averages of floats: own elements are multiplied by it
  std::int64_t divisor = 1;            // averages of integers: results are divided by it
  std::array<std::byte, 8> element{};  // pre-multiplied sums: an element of the data type, in the first bytes
};

struct Reduction {
  // out = raw own, ready to be combined. `out` may equal `own`.
  using Enter = void (*)(void* out, const void* own, std::size_t n, Factor factor);
  // out = incoming (+) own. `out` may equal `own` or `incoming`.
  using Combine = void (*)(void* out, const void* incoming, const void* own, std::size_t n, Factor factor);
  // The last combination: out = copy = result; `copy` may be null. Each of them may equal `own` or `incoming`.
  using Finish = void (*)(void* out, void* copy, const void* incoming, const void* own, std::size_t n,
                          Factor factor);

  // The sum of raw elements of 2 to kMaxSummed ranks, in their order, rounded once: out = copy = result. `copy` may be null;
  // both may equal a source.
  using SumAll = void (*)(void* out, void* copy, const std::byte* const* sources, const Factor* factors,
                          int ranks, std::size_t n);
  static constexpr int kMaxSummed = 64;

  std::size_t elementBytes = 0;
  bool scales = false;  // raw elements differ from ready ones
  Enter enter = nullptr;
  Combine combine = nullptr;     // with raw own elements
  Combine merge = nullptr;       // with ready ones
  Finish finish = nullptr;       // with raw own elements
  Finish finishMerge = nullptr;  // with ready ones
  SumAll sumAll = nullptr;       // of floats smaller than 32 bits, for sums and averages; null for others
  Factor factor;
};

Reduction chooseReduction(DataType type, ReduceOp op, int ranks);
// `factor`: one element of the type.
Reduction choosePreMulSum(DataType type, const void* factor);
// For operations that only move elements.
Reduction copyOf(DataType type);

// The functions for every type and operation, compiled for one kind of processor. The pre-multiplied sum
// comes last.
constexpr int kPreMulSum = kReduceOps;
using ReductionTable = Reduction[kDataTypes][kReduceOps + 1];
const ReductionTable& portableReductions();
// For x86 processors with AVX2 and F16C, with AVX-512 F, BW, VL and DQ, and with AVX-512 FP16, too; null if this processor has not
// got them.
const ReductionTable* avx2Reductions();
const ReductionTable* avx512Reductions();
const ReductionTable* avx512Fp16Reductions();
// The best table for this processor.
const ReductionTable& chosenReductions();

}  // namespace xylem::collectives
