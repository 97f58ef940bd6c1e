#pragma once
// What cudaStream_t points to, and the stream behind any handle.

#include <cstdint>

#include "runtime/cuda_api/cuda_stream.h"
#include "runtime/device/host_device.h"
#include "host/cuda_runtime.h"

struct CUstream_st {
  CUstream_st(xylem::CudaStream::Kind kind, int device, int priority) : stream(kind, device, priority) {}
  ~CUstream_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d737472ull;  // "xylemstr"
  std::uint64_t magic = kMagic;
  xylem::CudaStream stream;
};

namespace xylem {

// Null is the default stream of the calling thread's device. Null if the handle is not a stream.
inline CudaStream* streamOf(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy)
    return &DeviceStreams::of(currentDevice()).defaultStream();
  if (handle == cudaStreamPerThread) return &DeviceStreams::ofThread(currentDevice());
  return handle->magic == CUstream_st::kMagic ? &handle->stream : nullptr;
}

}  // namespace xylem
