#include "collectives/reduction.h"

namespace xylem {
namespace {

const ReductionTable& bestReductions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return avx2Reductions();
#endif
  return portableReductions();
}

}  // namespace

Reduction chooseReduction(DataType type, ReduceOp op, int ranks) {
  static const ReductionTable& table = bestReductions();
  Reduction reduction = table[static_cast<int>(type)][static_cast<int>(op)];
  reduction.factor.scale = 1.0 / ranks;
  reduction.factor.divisor = ranks;
  return reduction;
}

}  // namespace xylem
