#include "runtime/gpu/gpu_context.h"

#include <map>
#include <mutex>

namespace xylem::gpu {
namespace {

// How often each piece of memory is registered, as the driver registers it once.
struct Registry {
  std::mutex mutex;
  std::map<void*, int> uses;
};
Registry& registry() {
  static Registry* const all = new Registry;  // communicators may outlive static objects
  return *all;
}

// The device that this thread has entered.
thread_local std::pair<const DriverTable*, int> entered{nullptr, 0};

std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

GpuContext::GpuContext(const DriverTable& driver, int rank, int device, const Settings& settings)
    : driver_(driver), rank_(rank), device_(device) {
  if (driver.driverVersion < driver.oldestVersion)
    throw Error(ResultCode::kUnhandledCudaError,
                "{}: the driver is for CUDA {}; the kernel needs one for CUDA {} or newer, as CUDA {} has "
                "compiled it",
                who(), versionText(driver.driverVersion), versionText(driver.oldestVersion),
                versionText(driver.builtVersion));
  int count = 0;
  require(driver.countDevices(&count), "counting the GPUs");
  if (device < 0 || device >= count)
    throw Error(ResultCode::kInvalidUsage, "{}: there are {} GPUs", who(), count);
  require(driver.openDevice(device), "opening the GPU");
  if (const Status status = driver.loadKernel(device); status != kDone)
    throw Error(ResultCode::kUnhandledCudaError,
                "{}: the driver, which is for CUDA {}, does not load the kernel, which CUDA {} has compiled: "
                "{} (error {} of the driver)",
                who(), versionText(driver.driverVersion), versionText(driver.builtVersion),
                driver.describe(status), status);
  require(driver.facts(device, &facts_), "asking for the GPU's properties");
  givesFiles_ = facts_.givesFiles != 0 && settings.integer(Setting::kCumemEnable) == 1;
  if (facts_.sharesHostAddresses == 0)
    throw Error(ResultCode::kUnhandledCudaError,
                "{}: it does not see memory of the host at the host's addresses, which Xylem needs", who());
}

std::string GpuContext::who() const { return fmt::format("rank {}, GPU {}", rank_, device_); }

void GpuContext::fail(Status status, std::string_view what) const {
  throw Error(ResultCode::kUnhandledCudaError, "{}: {} failed: {} (error {} of the driver)", who(), what,
              driver_.describe(status), status);
}

void GpuContext::checkStream(void* stream, const char* function) const {
  const EnteredDevice entered(*this);
  int device = device_;
  if (const Status status = driver_.streamDevice(stream, &device); status != kDone)
    throw Error(ResultCode::kInvalidArgument, "{}: {}: {} is no stream: {}", function, who(), stream,
                driver_.describe(status));
  if (device != device_)
    throw Error(ResultCode::kInvalidArgument,
                "{}: {}: the stream is one of GPU {}; make it while GPU {} is the current device", function,
                who(), device, device_);
}

bool GpuContext::checkBuffer(const void* buffer, const char* function, const char* name) const {
  Place place{PlaceKind::kHost, -1, 0};
  {
    const EnteredDevice entered(*this);
    require(driver_.lookUp(buffer, &place), "asking where a buffer lies");
  }
  if (place.kind == PlaceKind::kDevice && place.device != device_)
    throw Error(ResultCode::kInvalidArgument,
                "{}: {}: {} ({}) lies in the memory of GPU {}; give memory of GPU {}", function, who(), name,
                buffer, place.device, device_);
  if (place.kind == PlaceKind::kHost && facts_.readsAnyHostMemory == 0)
    throw Error(ResultCode::kInvalidArgument,
                "{}: {}: {} ({}) is memory of the host that the GPU cannot reach; use cudaMalloc, "
                "cudaMallocHost or cudaHostRegister",
                function, who(), name, buffer);
  return place.peersReach != 0;
}

void GpuContext::checkSmallBuffer(const void* buffer, const char* function, const char* name) const {
  // Buffers begin at multiples of 256 bytes, and ranks' parts of them often at multiples of some kilobytes.
  const auto address = reinterpret_cast<std::uintptr_t>(buffer) >> 8;
  std::atomic<const void*>& known =
      rightBuffers_[(address ^ address >> 4 ^ address >> 8) % rightBuffers_.size()];
  if (buffer != nullptr && known.load(std::memory_order_relaxed) == buffer) return;
  checkBuffer(buffer, function, name);
  known.store(buffer, std::memory_order_relaxed);
}

EnteredDevice::EnteredDevice(const GpuContext& gpu) : gpu_(gpu), before_(entered) {
  const std::pair<const DriverTable*, int> now(&gpu.driver(), gpu.device());
  if (before_ == now) return;
  gpu.require(gpu.driver().enter(gpu.device()), "entering the device");
  entered = now;
}

EnteredDevice::~EnteredDevice() {
  if (before_ == std::pair<const DriverTable*, int>(&gpu_.driver(), gpu_.device())) return;
  gpu_.driver().leave();
  entered = before_;
}

GpuMemory::GpuMemory(const GpuContext& gpu, Where where, std::size_t bytes, std::string_view what)
    : where_(where), bytes_(bytes) {
  if (bytes == 0) return;
  const EnteredDevice entered(gpu);
  const DriverTable& driver = gpu.driver();
  void* memory = nullptr;
  const Status status = where == Where::kDevice ? driver.allocate(&memory, bytes)
                        : where == Where::kFile ? driver.allocateFile(&memory, &bytes_)
                                                : driver.allocateHost(&memory, bytes);
  if (status == driver.outOfMemory)
    throw Error(ResultCode::kUnhandledCudaError,
                "rank {}, GPU {}: not enough {} for {} bytes of {}; the GPU has {} MiB in all", gpu.rank(),
                gpu.device(), where == Where::kHost ? "pinned memory of the host" : "memory", bytes, what,
                gpu.facts().memoryBytes >> 20);
  gpu.require(status, "allocating memory");
  driver_ = &driver;
  device_ = gpu.device();
  data_ = static_cast<std::byte*>(memory);
}

GpuMemory::~GpuMemory() {
  if (data_ == nullptr || driver_->enter(device_) != kDone) return;
  switch (where_) {
    case Where::kDevice:
      driver_->release(data_);
      break;
    case Where::kFile:
      driver_->releaseFile(data_);
      break;
    case Where::kHost:
      driver_->releaseHost(data_);
      break;
  }
  driver_->leave();
}

GpuEvent::GpuEvent(const GpuContext& gpu) : gpu_(gpu) {
  const EnteredDevice entered(gpu);
  gpu.require(gpu.driver().makeEvent(&event_), "making an event");
}

GpuEvent::~GpuEvent() {
  if (gpu_.driver().enter(gpu_.device()) != kDone) return;
  gpu_.driver().destroyEvent(event_);
  gpu_.driver().leave();
}

bool GpuEvent::isOver() const {
  const EnteredDevice entered(gpu_);
  const Status status = gpu_.driver().queryEvent(event_);
  if (status == gpu_.driver().notReady) return false;
  gpu_.require(status, "a kernel");
  return true;
}

RegisteredMemory::RegisteredMemory(const GpuContext& gpu, void* memory, std::size_t bytes)
    : gpu_(gpu), memory_(memory) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  int& uses = all.uses[memory];
  if (uses == 0) {
    const EnteredDevice entered(gpu);
    gpu.require(gpu.driver().registerHost(memory, bytes), "pinning the memory of a queue");
  }
  ++uses;
}

RegisteredMemory::~RegisteredMemory() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.uses.find(memory_);
  if (found == all.uses.end() || --found->second > 0) return;
  all.uses.erase(found);
  if (gpu_.driver().enter(gpu_.device()) != kDone) return;
  gpu_.driver().unregisterHost(memory_);
  gpu_.driver().leave();
}

}  // namespace xylem::gpu
