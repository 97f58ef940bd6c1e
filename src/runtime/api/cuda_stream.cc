// host/cuda_runtime_api.h: streams.

#include <algorithm>

#include "runtime/api/cuda_boundary.h"
#include "runtime/cuda_api/stream_work.h"

using namespace xylem;
using namespace xylem::api;

namespace {

// As on GPUs, a lower number is a higher priority. The names are those of cudaDeviceGetStreamPriorityRange.
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

cudaError_t createStream(cudaStream_t* stream, unsigned flags, int priority) {
  return guardedCuda([&] {
    requireResult(stream);
    if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
    const auto kind = flags == cudaStreamNonBlocking ? cuda_api::CudaStream::Kind::kNonBlocking
                                                     : cuda_api::CudaStream::Kind::kBlocking;
    const int kept = std::clamp(priority, kGreatestPriority, kLeastPriority);
    *stream = std::make_unique<CUstream_st>(kind, device::currentDevice(), kept).release();
    return cudaSuccess;
  });
}

bool isDefault(cudaStream_t handle) {
  return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

// Calls a function of the program in the order of a stream. The program may spin until the function has set a
// flag, without another call.
template <typename Function>
void enqueueCall(device::Stream& queue, Function function) {
  struct Call {
    std::atomic<bool> done{false};
    bool begun = false;
  };
  const auto step = [call = std::make_shared<Call>(), function] {
    if (!std::exchange(call->begun, true))
      cuda_api::callOnHostThread([call, function] {
        function();
        call->done.store(true, std::memory_order_release);
      });
    return call->done.load(std::memory_order_acquire) ? device::Progress::kDone
                                                      : device::Progress::kWouldBlock;
  };
  cuda_api::enqueueSteps(queue, step);
  device::Scheduler::instance().takeTurn(queue);
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return createStream(stream, cudaStreamDefault, kLeastPriority);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return createStream(stream, flags, kLeastPriority);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return createStream(stream, flags, priority);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return guardedCuda([&] {
    requireResult(flags);
    const bool blocking = requireStream(handle).kind() != cuda_api::CudaStream::Kind::kNonBlocking;
    *flags = blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return guardedCuda([&] {
    requireResult(priority);
    *priority = requireStream(handle).priority();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return guardedCuda([&] {
    requireResult(device);
    *device = requireStream(handle).device();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return guardedCuda([&] {
    requireResult(id);
    *id = requireStream(handle).id();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    cuda_api::Capture::forbid(stream, cudaErrorStreamCaptureUnsupported);
    // A thread that waits for the default stream also waits for the streams for which that one waits.
    if (stream.kind() == cuda_api::CudaStream::Kind::kDefault) stream.order();
    if (stream.queue().pending()) device::Scheduler::instance().wait(stream.queue());
    return takeOutcome(stream.queue());
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    cuda_api::Capture::forbid(stream, cudaErrorStreamCaptureUnsupported);
    // Programs call this in a loop, so it enqueues nothing, and does some of the work for which they wait.
    if (stream.pending()) {
      device::Scheduler::instance().poll(&stream.queue());
      if (stream.pending()) return cudaErrorNotReady;
    }
    return takeOutcome(stream.queue());
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return guardedCuda([&] {
    if (isDefault(handle)) return cudaErrorInvalidResourceHandle;
    requireStream(handle);
    const std::unique_ptr<CUstream_st> owner(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    if (function == nullptr) return cudaErrorInvalidValue;
    const auto call = [=] { function(argument); };
    if (stream.captured()) {
      cuda_api::Capture::add(stream, cudaGraphNodeTypeHost,
                             [call](device::Stream& queue) { enqueueCall(queue, call); });
      return cudaSuccess;
    }
    stream.order();
    enqueueCall(stream.queue(), call);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* argument,
                                  unsigned flags) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
    cuda_api::Capture::forbid(stream, cudaErrorStreamCaptureUnsupported);
    stream.order();
    enqueueCall(stream.queue(), [=] { callback(handle, cudaSuccess, argument); });
    return cudaSuccess;
  });
}
