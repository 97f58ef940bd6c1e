#pragma once
// How elements of one type are combined by one operation, as plain functions over arrays.
//
//   const Reduction sum = chooseReduction(DataType::kFloat32, ReduceOp::kSum, ranks);
//   sum.combine(out, incoming, own, n, sum.factor);
//
// Every partial result is rounded to the element's type; types smaller than 32 bits are combined in 32-bit
// floats. An average multiplies each rank's own elements by 1/ranks on their way in; of integers it divides
// the wrapped sum at the end, towards zero. The result of an element depends only on the values and their
// order, never on where it lies in a buffer or which processor computes it, except that NaNs may differ in
// their payload.

#include <cstddef>
#include <cstdint>

#include "core/data_type.h"

namespace xylem {

struct Factor {
  double scale = 1;          // of own elements, averages of floats
  std::int64_t divisor = 1;  // of results, averages of integers
};

struct Reduction {
  // out = own, ready to be combined. `out` may equal `own`.
  using Enter = void (*)(void* out, const void* own, std::size_t n, Factor factor);
  // out = incoming (+) own. `out` may equal `own` or `incoming`.
  using Combine = void (*)(void* out, const void* incoming, const void* own, std::size_t n, Factor factor);
  // The last combination: out = copy = result. `out` may equal `own`.
  using Finish = void (*)(void* out, void* copy, const void* incoming, const void* own, std::size_t n,
                          Factor factor);

  std::size_t elementBytes = 0;
  Enter enter = nullptr;
  Combine combine = nullptr;
  Finish finish = nullptr;
  Factor factor;
};

Reduction chooseReduction(DataType type, ReduceOp op, int ranks);

// The functions for every type and operation, compiled for one kind of processor.
using ReductionTable = Reduction[kDataTypes][kReduceOps];
const ReductionTable& portableReductions();
// For x86 processors with AVX2; the portable ones elsewhere.
const ReductionTable& avx2Reductions();

}  // namespace xylem
