#pragma once
// Slots of queues over a network in the memory of a GPU, for networks that reach it (GPU Direct RDMA).
//
//   NetworkSlots slots(gpu, settings, log);
//   NetTransport net(sessions, {.stepBytes = stepBytes, .device = &slots}, network, engine);

#include <memory>
#include <utility>

#include "core/log.h"
#include "runtime/gpu/gpu_context.h"
#include "runtime/gpu/shared_memory.h"
#include "runtime/transport/net/device_memory.h"

namespace xylem::gpu {

class NetworkSlots final : public transport::DeviceMemory {
 public:
  // `gpu` has to live as long as this object; what was allocated may live longer. `process`: transport::Peer::process.
  NetworkSlots(const GpuContext& gpu, const Settings& settings, std::shared_ptr<const Logger> log,
               std::uint64_t process = 0)
      : gpu_(gpu), log_(std::move(log)), pointers_(pointersOf(gpu.facts(), settings)), process_(process) {}
  static unsigned pointersOf(const DeviceFacts& gpu, const Settings& settings);

  unsigned pointers() const override { return pointers_; }
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  std::shared_ptr<std::byte> allocateShared(std::size_t bytes, transport::DeviceHandle& handle) override;
  std::shared_ptr<std::byte> reach(const transport::DeviceHandle& handle) override;
  std::shared_ptr<void> enter() override { return std::make_shared<EnteredDevice>(gpu_); }
  FileDescriptor dmaBufOf(std::byte* memory, std::size_t bytes) override;

 private:
  NamedMemory reachHere(const transport::DeviceHandle& handle);
  NamedMemory reachElsewhere(const transport::DeviceHandle& handle);

  const GpuContext& gpu_;
  const std::shared_ptr<const Logger> log_;
  const unsigned pointers_;
  const std::uint64_t process_;
};

}  // namespace xylem::gpu
