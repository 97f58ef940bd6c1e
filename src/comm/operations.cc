#include "comm/operations.h"

#include "comm/all_reduce_task.h"

namespace xylem {

Operations::Operations(int rank, Links& links, int channels, Patience patience, const Logger& log)
    : rank_(rank), links_(links), channels_(channels), patience_(patience), log_(log) {}

Operations::~Operations() = default;

Task& Operations::allReduce(const RingBuffers& buffers, const Reduction& reduction) {
  if (failed_.load(std::memory_order_acquire)) throw *failure();
  if (free_ == nullptr) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (free_ == nullptr) free_ = all_.emplace_back(std::make_unique<AllReduceTask>(*this)).get();
  AllReduceTask& task = *free_;
  free_ = task.link;
  task.prepare(buffers, reduction, issued_);
  ++issued_;
  return task;
}

std::optional<Error> Operations::failure() const {
  const std::lock_guard lock(failureMutex_);
  return failure_;
}

void Operations::fail(const Error& error) noexcept {
  {
    const std::lock_guard lock(failureMutex_);
    if (failure_) return;
    failure_ = error;
  }
  failed_.store(true, std::memory_order_release);
  log_.warn("{}", error.what());
  for (const auto& connection : links_.connections()) connection->abort(rank_, error.what());
}

void Operations::giveBack(AllReduceTask& task) noexcept {
  AllReduceTask* newest = returned_.load(std::memory_order_relaxed);
  do {
    task.link = newest;
  } while (
      !returned_.compare_exchange_weak(newest, &task, std::memory_order_release, std::memory_order_relaxed));
  turn_.fetch_add(1, std::memory_order_release);
}

}  // namespace xylem
