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
  CUstream_st(xylem::cuda_api::CudaStream::Kind kind, int device, int priority)
      : stream(kind, device, priority) {}
  ~CUstream_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d737472ull;  // "xylemstr"
  volatile std::uint64_t magic = kMagic;  // else the store before it is freed may be left out
  xylem::cuda_api::CudaStream stream;
};

struct CUevent_st {
  explicit CUevent_st(xylem::cuda_api::Event::Options options) : event(options) {}
  explicit CUevent_st(const xylem::cuda_api::IpcName& name) : event(name) {}
  ~CUevent_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d65766eull;  // "xylemevn"
  volatile std::uint64_t magic = kMagic;  // else the store before it is freed may be left out
  xylem::cuda_api::Event event;
};

namespace xylem::api {

// A null handle is the default stream of `device`, which is that of the calling thread or of a communicator.
// Returns null if the handle is not a stream.
inline cuda_api::CudaStream* streamOf(cudaStream_t handle, int device = device::currentDevice()) {
  if (handle == nullptr || handle == cudaStreamLegacy)
    return &cuda_api::DeviceStreams::of(device).defaultStream();
  if (handle == cudaStreamPerThread) return &cuda_api::DeviceStreams::ofThread(device);
  return handle->magic == CUstream_st::kMagic ? &handle->stream : nullptr;
}

inline cuda_api::Event& requireEvent(cudaEvent_t handle) {
  if (handle == nullptr || handle->magic != CUevent_st::kMagic)
    throw cuda_api::CudaFailure(cudaErrorInvalidResourceHandle);
  return handle->event;
}

}  // namespace xylem::api
