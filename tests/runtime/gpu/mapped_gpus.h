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
//
// As a driver does outside of enter() and leave(), it refuses memory and events to a thread while any stream is captured.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/gpu/driver.h"

namespace xylem::testing {

class MappedGpus {
 public:
  struct Options {
    int devices = 8;
    int driverVersion = 12040;
    bool loadsKernel = true;
    std::size_t memoryBytes = std::size_t{1} << 30;  // of each GPU
    int residentBlocks = 132;                        // a launch of more is refused
    bool takingWaits = false;         // memory is taken when no kernel runs, which may be never
    bool areOne = false;              // all numbers name one GPU
    std::vector<std::string> busIds;  // of the first ones; the others are on no bus
    bool reachPeers = true;           // their memory
    bool exportsDmaBuf = true;
    bool failsToExport = false;  // though they say that they can
    bool givesFiles = true;
    bool failsToOpenFiles = false, failsToMapFiles = false;  // the same
    bool releasesWait = false;  // memory is given back once the GPU has nothing to do, as by a driver
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
  // The stream is destroyed; what is in it goes on. A new one gets its handle.
  void replaceStream(void* stream);
  // Memory that other GPUs do not reach, as that of a pool.
  void* allocateFromPool(std::size_t bytes);
  // That has the memory; -1: none.
  int deviceOf(const void* memory) const;
  void await(void* stream);
  // The stream waits until `opens` is set.
  void hold(void* stream, const bool* opens);

  // Calls on a captured stream, and on streams that wait for an event in it, become a graph, in their order.
  using Graph = std::shared_ptr<const std::vector<std::function<void()>>>;
  void beginCapture(void* stream);
  Graph endCapture(void* stream);
  // `other` becomes a part of the capture, as one that waits for an event of it.
  void joinCapture(void* stream, void* other);
  void replay(const Graph& graph, void* stream);

  void failNextLaunch();
  // From now on questions about events have errors, as after a kernel's illegal access.
  void fail();
  // Such questions until now.
  int questions() const;
  // Launches of the kernel until now.
  int launches() const;
  // Works of these that refer to buffers.
  int referring() const;
  // The same for works whose output others may write.
  int offering() const;
  // The same for works under LL128.
  int inLines() const;
  // Pairs of GPUs of which one may reach the other's memory, and pieces of memory that other processes gave.
  std::size_t reachablePairs() const;
  std::size_t imported() const;
  // How many were files, until now.
  int importedFiles() const;
  // Pieces of memory and events that were not given back.
  std::size_t allocated() const;
  // Pieces of the GPUs' own memory.
  std::size_t allocatedOnGpus() const;
};

}  // namespace xylem::testing
