#include "runtime/cuda_api/memory_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/cuda_api/cuda_error.h"

namespace xylem::cuda_api {

std::shared_ptr<void> MemoryPool::charge(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (most_ != 0 && (bytes > most_ || used_ > most_ - bytes)) return nullptr;
    used_ += bytes;
    for (std::uint64_t& high : high_) high = std::max(high, used_);
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

std::uint64_t MemoryPool::high(High which) const {
  const std::lock_guard lock(mutex_);
  return high_[which];
}

void MemoryPool::resetHigh(High which) {
  const std::lock_guard lock(mutex_);
  high_[which] = used_;
}

std::uint64_t newPoolNumber() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) throw CudaFailure(cudaErrorOperatingSystem);
  return number | 1;  // 0 is no number
}

namespace {

constexpr std::uint64_t kHandleMagic = 0x78796c6d706f6f6cull;  // "xylmpool"

struct Page {
  std::uint64_t magic = kHandleMagic;
  std::uint64_t number = 0;
  std::int32_t device = 0;
  std::uint32_t unused = 0;
};

}  // namespace

FileDescriptor writePoolHandle(const PoolHandle& told) {
  const Page page{.number = told.number, .device = told.device};
  FileDescriptor file(memfd_create("xylem-memory-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || write(file.get(), &page, sizeof page) != sizeof page ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0)
    throw CudaFailure(cudaErrorOperatingSystem);
  return file;
}

PoolHandle readPoolHandle(int file) {
  Page page;
  if (pread(file, &page, sizeof page, 0) != sizeof page || page.magic != kHandleMagic || page.number == 0)
    throw CudaFailure(cudaErrorInvalidValue);
  return {.number = page.number, .device = page.device};
}

}  // namespace xylem::cuda_api
