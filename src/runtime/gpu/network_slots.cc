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
  std::shared_ptr<SharedGpuMemory> memory;
  try {
    memory = SharedGpuMemory::make(gpu_, wholePages(bytes) + kPage, "a queue over the network",
                                   Sharers::kProcesses);
  } catch (const Error& error) {
    log_->info(Subsystem::kNet, "queues of other ranks have their slots in memory of the host: {}",
               error.what());
    return nullptr;
  }
  if (!memory->name()) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
  static_assert(sizeof(MemoryName) == sizeof handle.name);
  std::memcpy(handle.name.data(), &*memory->name(), sizeof handle.name);
  handle.process = process_;
  handle.address = address;
  handle.offset = wholePages(address) - address;
  handle.device = gpu_.device();
  return {memory, memory->data() + handle.offset};
}

std::shared_ptr<std::byte> NetworkSlots::reach(const transport::DeviceHandle& handle) {
  const NamedMemory found = handle.process == process_ ? reachHere(handle) : reachElsewhere(handle);
  if (found.memory != nullptr) return {found.memory, found.memory.get() + handle.offset};
  log_->info(Subsystem::kNet,
             "rank {}, GPU {}: does not reach the memory of the GPU beside the network device (GPU {} of its "
             "process{}{}); a queue has its slots in memory of the host",
             gpu_.rank(), gpu_.device(), handle.device, found.why.empty() ? "" : ": ", found.why);
  return nullptr;
}

NamedMemory NetworkSlots::reachHere(const transport::DeviceHandle& handle) {
  const EnteredDevice entered(gpu_);
  if (handle.device != gpu_.device() && gpu_.driver().reachPeer(handle.device) != kDone) return {};
  const std::shared_ptr<SharedGpuMemory> memory = SharedGpuMemory::at(handle.address);
  if (memory == nullptr) return {};
  return {{memory, memory->data()}, {}};
}

NamedMemory NetworkSlots::reachElsewhere(const transport::DeviceHandle& handle) {
  MemoryName name{};
  std::memcpy(&name, handle.name.data(), sizeof name);
  return memoryByName(gpu_, name);
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
