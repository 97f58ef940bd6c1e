#pragma once
// Where exceptions end in the functions of the CUDA runtime, which also keep the calling thread's last error.
//
//   return guardedCuda([&] {
//     requireResult(count);
//     *count = deviceCount();
//     return cudaSuccess;
//   });

#include <exception>
#include <optional>

#include "host/cuda_runtime.h"
#include "runtime/api/cuda_handles.h"
#include "runtime/cuda_api/capture.h"
#include "runtime/cuda_api/cuda_error.h"
#include "runtime/cuda_api/stream_work.h"

namespace xylem::api {

// Keeps the error for cudaGetLastError.
void keepCudaError(cudaError_t error) noexcept;
inline cudaError_t rememberCuda(cudaError_t error) noexcept {
  if (error != cudaSuccess) keepCudaError(error);
  return error;
}
// The text of an Error is for ncclGetLastError.
cudaError_t asCudaError(const std::exception& exception) noexcept;

template <typename Work>
cudaError_t guardedCuda(Work&& work) noexcept {
  try {
    return rememberCuda(work());
  } catch (const std::exception& exception) {
    return rememberCuda(asCudaError(exception));
  }
}

// Throws CudaFailure for null.
void requireResult(const void* result);
// These throw CudaFailure if the handle is not a stream, or there is no device of that number.
[[noreturn]] void throwNoStream();
inline cuda_api::CudaStream& requireStream(cudaStream_t handle) {
  cuda_api::CudaStream* const stream = streamOf(handle);
  if (stream == nullptr) throwNoStream();
  return *stream;
}
void requireDevice(int device);
int deviceCount();

// Waits for the work of all streams of a device.
cudaError_t waitForDevice(int device);
// The result of a call that found this error in a stream, whose text is for ncclGetLastError. The program gets each error once.
cudaError_t outcomeOf(const std::optional<Error>& error);
inline cudaError_t takeOutcome(device::Stream& stream) {
  return stream.failed() ? outcomeOf(stream.takeError()) : cudaSuccess;
}

// Enqueues work, or adds it to the graph if the stream is captured. Each launch of the graph copies it.
template <typename Work>
void enqueueOn(cuda_api::CudaStream& stream, cudaGraphNodeType type, Work work) {
  if (stream.captured()) {
    cuda_api::Capture::add(stream, type, [work = std::move(work)](device::Stream& queue) {
      cuda_api::enqueueWork(queue, work);
    });
    return;
  }
  stream.order();
  cuda_api::enqueueWork(stream.queue(), std::move(work));
}

}  // namespace xylem::api
