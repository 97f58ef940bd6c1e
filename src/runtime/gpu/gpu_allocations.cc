#include "runtime/gpu/gpu_allocations.h"

#include "core/error.h"

namespace xylem::gpu {
namespace {

// Calls `work` in the device, unless `status` is an error.
template <typename Work>
void inDevice(const DriverTable& driver, int device, Status status, const char* what, Work&& work) {
  if (status == kDone) status = driver.enter(device);
  if (status == kDone) {
    status = work();
    driver.leave();
  }
  if (status != kDone)
    throw Error(ResultCode::kUnhandledCudaError, "GPU {}: {} failed: {} (error {} of the driver)", device,
                what, driver.describe(status), status);
}

}  // namespace

GpuAllocations& GpuAllocations::instance() {
  static GpuAllocations* const all = new GpuAllocations;  // programs may free when static objects are gone
  return *all;
}

void* GpuAllocations::allocate(const DriverTable& driver, std::size_t bytes) {
  int device = 0;
  if (const Status status = driver.currentDevice(&device); status != kDone)
    throw Error(ResultCode::kUnhandledCudaError, "asking for the current GPU failed: {}",
                driver.describe(status));
  void* memory = nullptr;
  inDevice(driver, device, driver.openDevice(device), fmt::format("allocating {} bytes", bytes).c_str(),
           [&] { return driver.allocate(&memory, bytes); });
  const std::lock_guard lock(mutex_);
  owners_[memory] = {&driver, device};
  return memory;
}

bool GpuAllocations::free(void* memory) {
  Owner owner{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = owners_.find(memory);
    if (found == owners_.end()) return false;
    owner = found->second;
    owners_.erase(found);
  }
  inDevice(*owner.driver, owner.device, kDone, "giving back memory",
           [&] { return owner.driver->release(memory); });
  return true;
}

}  // namespace xylem::gpu
