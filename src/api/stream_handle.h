#pragma once
// What cudaStream_t points to, and the stream behind any handle.

#include <cstdint>

#include "device/host_device.h"
#include "device/scheduler.h"
#include "host/cuda_runtime.h"

struct CUstream_st {
  explicit CUstream_st(int device) : stream(device) {}
  ~CUstream_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d737472ull;  // "xylemstr"
  std::uint64_t magic = kMagic;
  xylem::OwnedStream stream;
};

namespace xylem {

// Null, and CUDA's two special handles, are the default stream of the calling thread's device. Null if the
// handle is not a stream.
inline Stream* streamOf(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
    return &Scheduler::instance().defaultStream(currentDevice());
  return handle->magic == CUstream_st::kMagic ? &handle->stream.get() : nullptr;
}

}  // namespace xylem
