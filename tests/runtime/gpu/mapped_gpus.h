#pragma once
// GPUs that are threads of the CPU: a driver (gpu/driver.h) whose streams are threads, whose memory is the host's, and whose kernel
// is the very source of the GPUs' kernel, on fibers (fiber_block.h).
//
//   MappedGpus gpus;                      // from now on threads have GPUs as devices
//   gpus.setDevice(3);                    // of the calling thread
//   void* const data = gpus.allocate(bytes);
//   void* const stream = gpus.makeStream();
//   ncclAllReduce(data, data, count, ncclFloat, ncclSum, comm, static_cast<cudaStream_t>(stream));
//   gpus.await(stream);

#include <cstddef>
#include <vector>

#include "runtime/gpu/driver.h"

namespace xylem::testing {

class MappedGpus {
 public:
  struct Options {
    int devices = 8;
    int driverVersion = 12040;
    std::size_t memoryBytes = std::size_t{1} << 30;  // of each GPU
    int residentBlocks = 132;
    bool areOne = false;  // all numbers name one GPU
  };
  MappedGpus();
  explicit MappedGpus(const Options& options);
  ~MappedGpus();
  MappedGpus(const MappedGpus&) = delete;
  MappedGpus& operator=(const MappedGpus&) = delete;

  void setDevice(int device);
  // Memory and a stream of the current device; they live as long as this object.
  void* allocate(std::size_t bytes);
  void* makeStream();
  void await(void* stream);
  // The stream waits until `opens` is set.
  void hold(void* stream, const bool* opens);
  void setCapturing(void* stream, bool capturing);

  // Launches of the kernel until now.
  int launches() const;
  // Pieces of memory, streams and events that were not given back.
  std::size_t allocated() const;
};

}  // namespace xylem::testing
