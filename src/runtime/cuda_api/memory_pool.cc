#include "runtime/cuda_api/memory_pool.h"

#include <algorithm>

namespace xylem::cuda_api {

std::shared_ptr<void> MemoryPool::charge(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (most_ != 0 && (bytes > most_ || used_ > most_ - bytes)) return nullptr;
    used_ += bytes;
    high_ = std::max(high_, used_);
  }
  return {this, [self = shared_from_this(), bytes](void*) { self->discharge(bytes); }};
}

void MemoryPool::discharge(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

std::uint64_t MemoryPool::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::uint64_t MemoryPool::high() const {
  const std::lock_guard lock(mutex_);
  return high_;
}

void MemoryPool::resetHigh() {
  const std::lock_guard lock(mutex_);
  high_ = used_;
}

}  // namespace xylem::cuda_api
