#pragma once
// Memory pools: they count the memory that is allocated from them, and hold none back.
//
//   const std::shared_ptr<MemoryPool> pool = MemoryPool::ofDevice(device);
//   table.allocate({.device = pool->device(), .charge = pool->charge(bytes)}, bytes);   // counts until it is freed
//   pool->used()

#include <cstdint>
#include <memory>
#include <mutex>

namespace xylem::cuda_api {

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // `most`: the most bytes that it gives; 0: any.
  MemoryPool(int device, std::uint64_t most) : device_(device), most_(most) {}

  int device() const { return device_; }
  // Counts `bytes` as used until the result is gone, which keeps the pool. Null if the pool gives no more.
  std::shared_ptr<void> charge(std::uint64_t bytes);
  // Bytes in use now, and the most since it was made or reset.
  std::uint64_t used() const;
  std::uint64_t high() const;
  void resetHigh();

 private:
  void discharge(std::uint64_t bytes) noexcept;

  const int device_;
  const std::uint64_t most_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0, high_ = 0;
};

}  // namespace xylem::cuda_api
