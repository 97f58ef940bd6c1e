// host/cuda_runtime_api.h: events.

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/cuda_handles.h"

using namespace xylem;
using namespace xylem::api;

namespace {

constexpr unsigned kEventFlags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

cudaError_t record(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
  return guardedCuda([&] {
    cuda_api::Event& known = requireEvent(event);
    cuda_api::CudaStream& stream = requireStream(handle);
    if ((flags & ~static_cast<unsigned>(cudaEventRecordExternal)) != 0) return cudaErrorInvalidValue;
    const bool external = flags == cudaEventRecordExternal;
    if (external && !stream.captured()) return cudaErrorIllegalState;
    known.record(stream, external);
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return guardedCuda([&] {
    requireResult(event);
    const bool timed = (flags & cudaEventDisableTiming) == 0;
    const bool interprocess = (flags & cudaEventInterprocess) != 0;
    if ((flags & ~kEventFlags) != 0 || (interprocess && timed)) return cudaErrorInvalidValue;
    *event = std::make_unique<CUevent_st>(cuda_api::Event::Options{timed, interprocess}).release();
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return record(event, stream, 0); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return record(event, stream, flags);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return guardedCuda([&] {
    const cuda_api::Event::Point point = requireEvent(event).point();
    device::Scheduler::instance().waitUntil([&] { return point.reached(); });
    return outcomeOf(point.failure());
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return guardedCuda([&] {
    const cuda_api::Event::Point point = requireEvent(event).point();
    if (!point.reached()) device::Scheduler::instance().poll(nullptr);
    return point.reached() ? outcomeOf(point.failure()) : cudaErrorNotReady;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return guardedCuda([&] {
    requireResult(milliseconds);
    const cuda_api::Event &first = requireEvent(start), &last = requireEvent(end);
    const cuda_api::Event::Point begun = first.point(), ended = last.point();
    const cuda_api::SharedEvent from = first.timedRecord(), to = last.timedRecord();
    if (from == nullptr || to == nullptr) return cudaErrorInvalidResourceHandle;
    if (!begun.reached() || !ended.reached()) return cudaErrorNotReady;
    for (const std::optional<Error>& failure : {begun.failure(), ended.failure()})
      if (failure) return outcomeOf(failure);
    *milliseconds = std::chrono::duration<float, std::milli>(to->when - from->when).count();
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return guardedCuda([&] {
    requireEvent(event);
    const std::unique_ptr<CUevent_st> owner(event);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
  return guardedCuda([&] {
    cuda_api::Event& known = requireEvent(event);
    cuda_api::CudaStream& stream = requireStream(handle);
    if ((flags & ~static_cast<unsigned>(cudaEventWaitExternal)) != 0) return cudaErrorInvalidValue;
    const bool external = flags == cudaEventWaitExternal;
    if (external && !stream.captured()) return cudaErrorIllegalState;
    known.makeWait(stream, external);
    return cudaSuccess;
  });
}
