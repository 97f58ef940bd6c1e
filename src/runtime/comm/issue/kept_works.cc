#include "runtime/comm/issue/kept_works.h"

#include <algorithm>

namespace xylem::comm {
namespace {

// Whether the operations differ by their buffers only. Scaled ones never count as equal: their scalars may
// have changed.
bool sameButBuffers(const CommOperation& a, const CommOperation& b) {
  return a.function == b.function && a.count == b.count && a.type == b.type && a.peer == b.peer &&
         a.reduction.op == b.reduction.op && !a.reduction.scaled && !b.reduction.scaled;
}

}  // namespace

bool KeptWorks::again(std::span<const CommOperation> operations) {
  for (std::size_t tried = 0; tried < kMost; ++tried) {
    const std::size_t i = (now_ + tried) % kMost;
    Kept& kept = works_[i];
    if (!std::equal(operations.begin(), operations.end(), kept.operations.begin(), kept.operations.end(),
                    sameButBuffers))
      continue;
    now_ = i;
    const auto change = [&](WorkItem& item) { item.rebind(operations[item.place]); };
    if (kept.single.item != nullptr)
      change(*kept.single.item);
    else
      kept.work->restart(change);
    return true;
  }
  if (isKept()) now_ = (now_ + 1) % kMost;
  forget();
  return false;
}

void KeptWorks::keep(std::span<const CommOperation> operations) {
  now().operations.assign(operations.begin(), operations.end());
  now().single = now().work->openSingle();
}

void KeptWorks::forget() {
  now().operations.clear();
  now().single = {};
}

// Stepping a single item instead of its work saves a tenth of a small collective's time.
device::Progress KeptWorks::step(ItemObserver* observer) {
  const SingleItem& single = now().single;
  return single.item != nullptr ? single.executor->step(*single.item, observer)
                                : now().work->step(true, observer);
}

}  // namespace xylem::comm
