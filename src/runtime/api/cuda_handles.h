#pragma once
// The objects to which cudaStream_t and cudaEvent_t point, and the stream or event behind any handle.
//
//   CudaStream* stream = streamOf(handle);    // null: not a stream
//   Event& event = requireEvent(other);       // throws CudaFailure if it is not an event
//
// A magic number, which is cleared at the end, tells an object from a pointer to something else.

#include <cstdint>

#include "host/cuda_runtime.h"
#include "runtime/cuda_api/cuda_error.h"
#include "runtime/cuda_api/cuda_stream.h"
#include "runtime/cuda_api/event.h"
#include "runtime/device/host_device.h"

struct CUstream_st {
  CUstream_st(xylem::CudaStream::Kind kind, int device, int priority) : stream(kind, device, priority) {}
  ~CUstream_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d737472ull;  // "xylemstr"
  std::uint64_t magic = kMagic;
  xylem::CudaStream stream;
};

struct CUevent_st {
  explicit CUevent_st(xylem::Event::Options options) : event(options) {}
  explicit CUevent_st(const xylem::IpcName& name) : event(name) {}
  ~CUevent_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d65766eull;  // "xylemevn"
  std::uint64_t magic = kMagic;
  xylem::Event event;
};

namespace xylem {

// A null handle is the default stream of the calling thread's device. Returns null if the handle is not a
// stream.
inline CudaStream* streamOf(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy)
    return &DeviceStreams::of(currentDevice()).defaultStream();
  if (handle == cudaStreamPerThread) return &DeviceStreams::ofThread(currentDevice());
  return handle->magic == CUstream_st::kMagic ? &handle->stream : nullptr;
}

inline Event& requireEvent(cudaEvent_t handle) {
  if (handle == nullptr || handle->magic != CUevent_st::kMagic)
    throw CudaFailure(cudaErrorInvalidResourceHandle);
  return handle->event;
}

}  // namespace xylem
