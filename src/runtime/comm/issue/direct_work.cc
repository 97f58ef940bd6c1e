#include "runtime/comm/issue/direct_work.h"

namespace xylem {

Reduction reductionOf(const CommOperation& operation, int ranks) {
  if (!reduces(directKindOf(operation.function))) return copyOf(operation.type);
  if (operation.reduction.scaled) return choosePreMulSum(operation.type, operation.reduction.scalar.data());
  return chooseReduction(operation.type, operation.reduction.op, ranks);
}

DirectWork directWorkOf(const CommOperation& operation, int ranks) {
  return {.kind = directKindOf(operation.function),
          .input = operation.send,
          .output = operation.receive,
          .count = operation.count,
          .type = operation.type,
          .op = static_cast<std::uint8_t>(operation.reduction.op),
          .scaled = operation.reduction.scaled,
          .root = operation.peer,
          .reduction = reductionOf(operation, ranks)};
}

}  // namespace xylem
