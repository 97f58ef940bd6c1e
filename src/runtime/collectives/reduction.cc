#include "runtime/collectives/reduction.h"

#include <cstring>

namespace xylem::collectives {

const ReductionTable& chosenReductions() {
  static const ReductionTable& table = []() -> const ReductionTable& {
    for (const auto of : {&avx512Fp16Reductions, &avx512Reductions, &avx2Reductions})
      if (const ReductionTable* supported = of()) return *supported;
    return portableReductions();
  }();
  return table;
}

Reduction chooseReduction(DataType type, ReduceOp op, int ranks) {
  // The average of one rank's elements is the elements.
  if (op == ReduceOp::kAvg && ranks == 1) op = ReduceOp::kSum;
  Reduction reduction = chosenReductions()[static_cast<int>(type)][static_cast<int>(op)];
  reduction.factor.scale = 1.0 / ranks;
  reduction.factor.divisor = ranks;
  return reduction;
}

Reduction choosePreMulSum(DataType type, const void* factor) {
  Reduction reduction = chosenReductions()[static_cast<int>(type)][kPreMulSum];
  std::memcpy(reduction.factor.element.data(), factor, reduction.elementBytes);
  return reduction;
}

Reduction copyOf(DataType type) { return chooseReduction(type, ReduceOp::kSum, 1); }

}  // namespace xylem::collectives
