#pragma once
// Memory pools: they count the memory that is allocated from them, and hold none back.
//
//   const std::shared_ptr<MemoryPool> pool = MemoryPool::ofDevice(device);
//   table.allocate({.device = pool->device(), .charge = pool->charge(bytes)}, bytes);   // counts until it is freed
//   pool->used()
//
// A pool that processes share has a number, which a sealed file holds: a process with the file has the pool. Memory of the
// pool has a name (runtime/cuda_api/ipc.h) with that number.

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/file_descriptor.h"
#include "runtime/cuda_api/ipc.h"

namespace xylem::cuda_api {

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // `most`: the most bytes that it gives; 0: any. `number`: of a pool that processes share, 0 of others.
  MemoryPool(int device, std::uint64_t most, std::uint64_t number = 0)
      : device_(device), most_(most), number_(number) {}

  int device() const { return device_; }
  std::uint64_t number() const { return number_; }
  // Counts `bytes` as used until the result is gone, which keeps the pool. Null if the pool gives no more.
  std::shared_ptr<void> charge(std::uint64_t bytes);
  // Bytes in use now. All that is reserved is in use; the most of both is counted from when each was reset.
  std::uint64_t used() const;
  enum High { kReserved, kUsed };
  std::uint64_t high(High which) const;
  void resetHigh(High which);

 private:
  void discharge(std::uint64_t bytes) noexcept;

  const int device_;
  const std::uint64_t most_, number_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0;
  std::uint64_t high_[2] = {0, 0};
};

// A number that no other pool of this host has. Throws CudaFailure.
std::uint64_t newPoolNumber();

// The shareable handle of a pool: a file that another process gets, and its content. Both functions throw CudaFailure.
struct PoolHandle {
  std::uint64_t number = 0;
  std::int32_t device = 0;
};
FileDescriptor writePoolHandle(const PoolHandle& told);
PoolHandle readPoolHandle(int file);

// The content of cudaMemPoolPtrExportData.
struct PooledName {
  IpcName memory;
  std::uint64_t pool = 0;
};

}  // namespace xylem::cuda_api
