#include "runtime/comm/issue/kept_works.h"

#include <algorithm>

namespace xylem::comm {
namespace {

// Whether an operation differs from an earlier call by its buffers only.
bool isCall(const CommOperation& operation, const CallWords& call) {
  return pack(signatureOf(operation)) == call;
}

}  // namespace

bool KeptWorks::again(std::span<const CommOperation> operations, std::uint64_t number) {
  if (const std::size_t i = number % kMost; number != 0 && works_[i].number == number) {
    now_ = i;
    if (now().single.item == nullptr) now().work->restart([](WorkItem&) {});
    return true;
  }
  for (std::size_t tried = 0; tried < kMost; ++tried) {
    const std::size_t i = (now_ + tried) % kMost;
    Kept& kept = works_[i];
    if (!std::equal(operations.begin(), operations.end(), kept.calls.begin(), kept.calls.end(), isCall))
      continue;
    now_ = i;
    kept.number = newNumber();
    const auto change = [&](WorkItem& item) { item.rebind(operations[item.place]); };
    if (kept.single.item != nullptr)
      change(*kept.single.item);
    else
      kept.work->restart(change);
    return true;
  }
  if (!now().calls.empty()) now_ = (now_ + 1) % kMost;
  forget();
  return false;
}

void KeptWorks::keep(std::span<const CommOperation> operations, const GroupBytes& bytes) {
  for (const CommOperation& operation : operations)
    if (operation.reduction.scaled) return;
  for (const CommOperation& operation : operations) now().calls.push_back(pack(signatureOf(operation)));
  now().single = now().work->openSingle();
  now().bytes = bytes;
  now().number = newNumber();
}

void KeptWorks::forget() {
  now().calls.clear();
  now().single = {};
  now().number = 0;
}

// Stepping a single item instead of its work saves a tenth of a small collective's time.
device::Progress KeptWorks::step(ItemObserver* observer) {
  const SingleItem& single = now().single;
  return single.item != nullptr ? single.executor->step(*single.item, observer)
                                : now().work->step(true, observer);
}

}  // namespace xylem::comm
