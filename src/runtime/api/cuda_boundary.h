#pragma once
// Where exceptions end in the CUDA runtime's names, and where the calling thread's last error is kept.
//
//   return guardedCuda([&] { ...; return cudaSuccess; });

#include <exception>
#include <optional>

#include "runtime/api/stream_handle.h"
#include "runtime/cuda_api/capture.h"
#include "runtime/cuda_api/failure.h"
#include "runtime/cuda_api/stream_work.h"
#include "host/cuda_runtime.h"

namespace xylem {

// Keeps what cudaGetLastError will say; gives it back.
void keepCudaError(cudaError_t error) noexcept;
inline cudaError_t rememberCuda(cudaError_t error) noexcept {
  if (error != cudaSuccess) keepCudaError(error);
  return error;
}
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
// Throws CudaFailure unless the handle is a stream, or there is a device of that number.
[[noreturn]] void throwNoStream();
inline CudaStream& requireStream(cudaStream_t handle) {
  CudaStream* const stream = streamOf(handle);
  if (stream == nullptr) throwNoStream();
  return *stream;
}
void requireDevice(int device);
int deviceCount();

// Waits for the work of all streams of a device.
cudaError_t waitForDevice(int device);
// What a stream's errors are to the program, which hears of each once.
cudaError_t outcomeOf(const std::optional<Error>& error);
inline cudaError_t takeOutcome(Stream& stream) {
  return stream.failed() ? outcomeOf(stream.takeError()) : cudaSuccess;
}

// Enqueues work, or adds it to the graph if the stream is captured. Nodes copy it.
template <typename Work>
void enqueueOn(CudaStream& stream, cudaGraphNodeType type, Work work) {
  if (stream.captured()) {
    Capture::add(stream, type, [work = std::move(work)](Stream& queue) { enqueueWork(queue, work); });
    return;
  }
  stream.order();
  enqueueWork(stream.queue(), std::move(work));
}

}  // namespace xylem
