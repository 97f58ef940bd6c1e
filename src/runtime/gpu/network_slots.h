#pragma once
// Slots of queues over a network in the memory of a GPU, for networks that reach it (GPU Direct RDMA).
//
//   NetworkSlots slots(gpu, settings, log);
//   NetTransport net(sessions, {.stepBytes = stepBytes, .device = &slots}, network, engine);

#include <memory>
#include <utility>

#include "core/log.h"
#include "runtime/gpu/gpu_context.h"
#include "runtime/transport/net/device_memory.h"

namespace xylem::gpu {

class NetworkSlots final : public transport::DeviceMemory {
 public:
  // `gpu` has to live as long as this object; what was allocated may live longer.
  NetworkSlots(const GpuContext& gpu, const Settings& settings, std::shared_ptr<const Logger> log)
      : gpu_(gpu), log_(std::move(log)), pointers_(pointersOf(gpu.facts(), settings)) {}
  static unsigned pointersOf(const DeviceFacts& gpu, const Settings& settings);

  unsigned pointers() const override { return pointers_; }
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  FileDescriptor dmaBufOf(std::byte* memory, std::size_t bytes) override;

 private:
  const GpuContext& gpu_;
  const std::shared_ptr<const Logger> log_;
  const unsigned pointers_;
};

}  // namespace xylem::gpu
