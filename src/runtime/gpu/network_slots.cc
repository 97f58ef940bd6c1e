#include "runtime/gpu/network_slots.h"

#include <cstdint>

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
