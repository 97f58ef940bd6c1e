#pragma once
// Memory of a GPU for the slots of queues over a network. A network card then reads and writes it itself (GPU Direct RDMA), and data
// does not pass through memory of the host. Only kernels of the GPU fill and empty such slots; the counters and notes of the queue
// stay in memory of the host, as threads of the host carry the steps on.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/file_descriptor.h"

namespace xylem::transport {

// By which another rank of the host reaches such memory with its own GPU.
struct DeviceHandle {
  std::uint64_t process = 0;         // a number of the process that has the memory
  std::uint64_t address = 0;         // in that process, of the allocation
  std::uint64_t offset = 0;          // of the memory, in the allocation
  std::int32_t device = -1;          // in that process
  std::array<std::byte, 80> name{};  // for other processes (gpu::MemoryName)
};

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // How networks can register it (NetPointer): by its address, as DMA-BUF.
  virtual unsigned pointers() const = 0;
  // Whole pages of `bytes` bytes or more. Throws Error if there are none.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  // The same for GPUs of other ranks of the host to reach. Null if there is none, or the driver cannot.
  virtual std::shared_ptr<std::byte> allocateShared(std::size_t bytes, DeviceHandle& handle) = 0;
  // Such memory of another rank; null if this rank's GPU does not reach it.
  virtual std::shared_ptr<std::byte> reach(const DeviceHandle& handle) = 0;
  // The calling thread has the GPU for its own as long as it keeps what this returns.
  virtual std::shared_ptr<void> enter() = 0;
  // The descriptor of such pages as a DMA-BUF, by which networks register them that do not take a GPU's addresses; an empty one if
  // the driver makes none.
  virtual FileDescriptor dmaBufOf(std::byte* memory, std::size_t bytes) = 0;
};

}  // namespace xylem::transport
