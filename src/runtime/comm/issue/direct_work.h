#pragma once
// A collective call as what a DirectExchange does.

#include "runtime/collectives/direct_exchange.h"
#include "runtime/comm/issue/operation.h"

namespace xylem {

// Of collectives only.
constexpr DirectKind directKindOf(Function function) {
  return function == Function::kAlltoAll ? DirectKind::kAlltoAll : directKindOf(collectiveOf(function));
}
// What is combined, and how, among so many ranks.
Reduction reductionOf(const CommOperation& operation, int ranks);
DirectWork directWorkOf(const CommOperation& operation, int ranks);

}  // namespace xylem
