#pragma once
// Memory of GPUs that programs have by ncclMemAlloc.
//
//   void* const memory = GpuAllocations::instance().allocate(driver, bytes);   // of the thread's current GPU
//   GpuAllocations::instance().free(memory)                                    // false: it has not come from here

#include <cstddef>
#include <map>
#include <mutex>

#include "runtime/gpu/driver.h"

namespace xylem::gpu {

class GpuAllocations {
 public:
  static GpuAllocations& instance();

  // Throws Error (ncclUnhandledCudaError) if the driver has no memory, or fails.
  void* allocate(const DriverTable& driver, std::size_t bytes);
  bool free(void* memory);

 private:
  struct Owner {
    const DriverTable* driver;
    int device;
  };
  std::mutex mutex_;
  std::map<void*, Owner> owners_;
};

}  // namespace xylem::gpu
