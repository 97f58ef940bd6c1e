// host/cuda_runtime_api.h: copies and memsets. One-dimensional ones are a single row.

#include <cstring>
#include <vector>

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/allocation_table.h"

using namespace xylem;
using namespace xylem::api;

namespace {

// Rows of `width` bytes; the pitches are from row to row.
struct Copy {
  void* to;
  const void* from;
  size_t width;
  size_t height = 1;
  size_t toPitch = 0;
  size_t fromPitch = 0;

  bool empty() const { return width == 0 || height == 0; }
  void operator()() const {
    if (empty()) return;
    for (size_t row = 0; row < height; ++row)
      std::memmove(static_cast<std::byte*>(to) + row * toPitch,
                   static_cast<const std::byte*>(from) + row * fromPitch, width);
  }
};

struct Fill {
  void* to;
  int value;
  size_t width;
  size_t height = 1;
  size_t pitch = 0;

  bool empty() const { return width == 0 || height == 0; }
  void operator()() const {
    if (empty()) return;
    for (size_t row = 0; row < height; ++row)
      std::memset(static_cast<std::byte*>(to) + row * pitch, value, width);
  }
};

void check(const Copy& copy, const cudaMemcpyKind& kind) {
  if (rawValue(kind) < cudaMemcpyHostToHost || rawValue(kind) > cudaMemcpyDefault)
    throw cuda_api::CudaFailure(cudaErrorInvalidMemcpyDirection);
  if (!copy.empty() && (copy.to == nullptr || copy.from == nullptr))
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  if (copy.height > 1 && (copy.toPitch < copy.width || copy.fromPitch < copy.width))
    throw cuda_api::CudaFailure(cudaErrorInvalidPitchValue);
}

void check(const Fill& fill) {
  if (!fill.empty() && fill.to == nullptr) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  if (fill.height > 1 && fill.pitch < fill.width) throw cuda_api::CudaFailure(cudaErrorInvalidPitchValue);
}

// Does the work within the call, in the order of the default stream.
template <typename Work>
cudaError_t doNow(cudaStream_t handle, const Work& work) {
  cuda_api::CudaStream& stream = requireStream(handle);
  cuda_api::Capture::forbid(stream, cudaErrorStreamCaptureUnsupported);
  stream.order();
  device::Scheduler::instance().wait(stream.queue());
  work();
  return takeOutcome(stream.queue());
}

// A copy from memory that CUDA did not allocate. The program may reuse that memory as soon as the call
// returns, so its content is kept here.
struct CopyFromProgram {
  CopyFromProgram(const Copy& asked) : copy(asked), kept(asked.width * asked.height) {
    Copy{kept.data(), copy.from, copy.width, copy.height, copy.width, copy.fromPitch}();
  }
  void operator()() const { Copy{copy.to, kept.data(), copy.width, copy.height, copy.toPitch, copy.width}(); }
  Copy copy;
  std::vector<std::byte> kept;
};

cudaError_t enqueueCopy(cudaStream_t handle, const Copy& copy, const cudaMemcpyKind& kind) {
  return guardedCuda([&] {
    check(copy, kind);
    cuda_api::CudaStream& stream = requireStream(handle);
    const bool fromHost = rawValue(kind) == cudaMemcpyHostToDevice;
    // A graph reads the program's memory at every launch.
    if (fromHost && !copy.empty() && !stream.captured() &&
        !cuda_api::AllocationTable::instance().find(copy.from))
      enqueueOn(stream, cudaGraphNodeTypeMemcpy, CopyFromProgram(copy));
    else
      enqueueOn(stream, cudaGraphNodeTypeMemcpy, copy);
    return cudaSuccess;
  });
}

cudaError_t enqueueFill(cudaStream_t handle, const Fill& fill) {
  return guardedCuda([&] {
    check(fill);
    enqueueOn(requireStream(handle), cudaGraphNodeTypeMemset, fill);
    return cudaSuccess;
  });
}

cudaError_t copyNow(const Copy& copy, const cudaMemcpyKind& kind, cudaStream_t handle) {
  return guardedCuda([&] {
    check(copy, kind);
    return doNow(handle, copy);
  });
}

cudaError_t fillNow(const Fill& fill, cudaStream_t handle) {
  return guardedCuda([&] {
    check(fill);
    return doNow(handle, fill);
  });
}

}  // namespace

cudaError_t cudaMemcpy(void* destination, const void* source, size_t count, cudaMemcpyKind kind) {
  return copyNow({destination, source, count}, kind, cudaStreamLegacy);
}

cudaError_t cudaMemcpyPeer(void* destination, int destinationDevice, const void* source, int sourceDevice,
                           size_t count) {
  return guardedCuda([&] {
    requireDevice(destinationDevice);
    requireDevice(sourceDevice);
    return cudaMemcpy(destination, source, count, cudaMemcpyDefault);
  });
}

cudaError_t cudaMemcpy2D(void* destination, size_t destinationPitch, const void* source, size_t sourcePitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  return copyNow({destination, source, width, height, destinationPitch, sourcePitch}, kind, cudaStreamLegacy);
}

cudaError_t cudaMemset(void* pointer, int value, size_t count) {
  return fillNow({pointer, value, count}, cudaStreamLegacy);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return fillNow({pointer, value, width, height, pitch}, cudaStreamLegacy);
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return enqueueCopy(stream, {destination, source, count}, kind);
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destinationDevice, const void* source,
                                int sourceDevice, size_t count, cudaStream_t stream) {
  return guardedCuda([&] {
    requireDevice(destinationDevice);
    requireDevice(sourceDevice);
    return cudaMemcpyAsync(destination, source, count, cudaMemcpyDefault, stream);
  });
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destinationPitch, const void* source,
                              size_t sourcePitch, size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return enqueueCopy(stream, {destination, source, width, height, destinationPitch, sourcePitch}, kind);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream) {
  return enqueueFill(stream, {pointer, value, count});
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return enqueueFill(stream, {pointer, value, width, height, pitch});
}

// The same under CUDA_API_PER_THREAD_DEFAULT_STREAM: in the calling thread's default stream.
extern "C" {
__attribute__((visibility("default"))) cudaError_t cudaMemcpy_ptds(void* destination, const void* source,
                                                                   size_t count, cudaMemcpyKind kind) {
  return copyNow({destination, source, count}, kind, cudaStreamPerThread);
}
__attribute__((visibility("default"))) cudaError_t cudaMemcpy2D_ptds(void* destination, size_t toPitch,
                                                                     const void* source, size_t fromPitch,
                                                                     size_t width, size_t height,
                                                                     cudaMemcpyKind kind) {
  return copyNow({destination, source, width, height, toPitch, fromPitch}, kind, cudaStreamPerThread);
}
__attribute__((visibility("default"))) cudaError_t cudaMemset_ptds(void* pointer, int value, size_t count) {
  return fillNow({pointer, value, count}, cudaStreamPerThread);
}
__attribute__((visibility("default"))) cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value,
                                                                     size_t width, size_t height) {
  return fillNow({pointer, value, width, height, pitch}, cudaStreamPerThread);
}
}
