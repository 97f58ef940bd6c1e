#pragma once
// What cudaEvent_t points to.
//
//   Event& event = requireEvent(handle);   // throws CudaFailure

#include <cstdint>

#include "runtime/cuda_api/event.h"
#include "runtime/cuda_api/failure.h"

struct CUevent_st {
  explicit CUevent_st(xylem::Event::Options options) : event(options) {}
  explicit CUevent_st(const xylem::IpcName& name) : event(name) {}
  ~CUevent_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d65766eull;  // "xylemevn"
  std::uint64_t magic = kMagic;
  xylem::Event event;
};

namespace xylem {

inline Event& requireEvent(cudaEvent_t handle) {
  if (handle == nullptr || handle->magic != CUevent_st::kMagic)
    throw CudaFailure(cudaErrorInvalidResourceHandle);
  return handle->event;
}

}  // namespace xylem
