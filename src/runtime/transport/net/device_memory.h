#pragma once
// Memory of a GPU for the slots of queues over a network. A network card then reads and writes it itself (GPU Direct RDMA), and data
// does not pass through memory of the host. Only kernels of the GPU fill and empty such slots; the counters and notes of the queue
// stay in memory of the host, as threads of the host carry the steps on.

#include <cstddef>
#include <memory>

#include "core/file_descriptor.h"

namespace xylem::transport {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // How networks can register it (NetPointer): by its address, as DMA-BUF.
  virtual unsigned pointers() const = 0;
  // Whole pages of `bytes` bytes or more. Throws Error if there are none.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  // The descriptor of such pages as a DMA-BUF, by which networks register them that do not take a GPU's addresses; an empty one if
  // the driver makes none.
  virtual FileDescriptor dmaBufOf(std::byte* memory, std::size_t bytes) = 0;
};

}  // namespace xylem::transport
