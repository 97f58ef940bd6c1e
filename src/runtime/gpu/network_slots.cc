#include "runtime/gpu/network_slots.h"

#include <cstdint>
#include <cstring>

#include "runtime/transport/net/network.h"

namespace xylem::gpu {
namespace {

// A DMA-BUF has whole pages of the host. These have 4, 16 or 64 KiB, so this is a multiple of all.
constexpr std::size_t kPage = std::size_t{64} << 10;

constexpr std::size_t wholePages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

unsigned NetworkSlots::pointersOf(const DeviceFacts& gpu, const Settings& settings) {
  const bool dmaBuf = gpu.exportsDmaBuf != 0 && settings.integer(Setting::kDmabufEnable) == 1;
  return transport::kCudaPointer | (dmaBuf ? transport::kDmaBufPointer : 0u);
}

// The driver may cut small memory out of a page that it has given out already.
std::shared_ptr<std::byte> NetworkSlots::allocate(std::size_t bytes) {
  const auto memory = std::make_shared<GpuMemory>(gpu_, GpuMemory::Where::kDevice, wholePages(bytes) + kPage,
                                                  "a queue over the network");
  std::byte* const begin = memory->data();
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return {memory, begin + (wholePages(address) - address)};
}

std::shared_ptr<std::byte> NetworkSlots::allocateShared(std::size_t bytes, transport::DeviceHandle& handle) {
  std::shared_ptr<GpuMemory> memory;
  try {
    memory = makeSharedMemory(gpu_, wholePages(bytes) + kPage, "a queue over the network");
  } catch (const Error& error) {
    log_->info(Subsystem::kNet, "queues of other ranks have their slots in memory of the host: {}",
               error.what());
    return nullptr;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
  MemoryHandle driver{};
  {
    const EnteredDevice entered(gpu_);
    if (gpu_.driver().exportMemory(memory->data(), &driver) != kDone) return nullptr;
  }
  static_assert(sizeof driver == sizeof handle.driver);
  std::memcpy(handle.driver.data(), &driver, sizeof driver);
  handle.process = process_;
  handle.address = address;
  handle.offset = wholePages(address) - address;
  handle.device = gpu_.device();
  return {memory, memory->data() + handle.offset};
}

std::shared_ptr<std::byte> NetworkSlots::reach(const transport::DeviceHandle& handle) {
  std::shared_ptr<std::byte> memory = handle.process == process_ ? reachHere(handle) : reachElsewhere(handle);
  if (memory == nullptr)
    log_->info(
        Subsystem::kNet,
        "rank {}, GPU {}: does not reach the memory of the GPU beside the network device (GPU {} of its "
        "process); a queue has its slots in memory of the host",
        gpu_.rank(), gpu_.device(), handle.device);
  return memory;
}

std::shared_ptr<std::byte> NetworkSlots::reachHere(const transport::DeviceHandle& handle) {
  const EnteredDevice entered(gpu_);
  if (handle.device != gpu_.device() && gpu_.driver().reachPeer(handle.device) != kDone) return nullptr;
  const std::shared_ptr<GpuMemory> memory = sharedMemoryAt(handle.address);
  return memory == nullptr ? nullptr : std::shared_ptr<std::byte>(memory, memory->data() + handle.offset);
}

std::shared_ptr<std::byte> NetworkSlots::reachElsewhere(const transport::DeviceHandle& handle) {
  MemoryHandle driver{};
  std::memcpy(&driver, handle.driver.data(), sizeof driver);
  const std::shared_ptr<std::byte> memory = importedMemory(gpu_, driver);
  return memory == nullptr ? nullptr : std::shared_ptr<std::byte>(memory, memory.get() + handle.offset);
}

FileDescriptor NetworkSlots::dmaBufOf(std::byte* memory, std::size_t bytes) {
  const EnteredDevice entered(gpu_);
  int descriptor = -1;
  const Status status = gpu_.driver().exportDmaBuf(memory, wholePages(bytes), &descriptor);
  if (status == kDone) return FileDescriptor(descriptor);
  log_->info(Subsystem::kNet,
             "rank {}, GPU {}: the driver makes no DMA-BUF of {} bytes for a queue over the network: {}",
             gpu_.rank(), gpu_.device(), wholePages(bytes), gpu_.driver().describe(status));
  return {};
}

}  // namespace xylem::gpu
