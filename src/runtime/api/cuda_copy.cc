// host/cuda_runtime_api.h: copies and memsets. One-dimensional ones are a single row, two-dimensional ones a single
// slice.

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/api/boundary.h"
#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/allocation_table.h"

using namespace xylem;
using namespace xylem::api;

namespace {

// Slices of `height` rows of `width` bytes; the pitches are from row to row, and from slice to slice.
struct Copy {
  void* to;
  const void* from;
  size_t width;
  size_t height = 1;
  size_t toPitch = 0;
  size_t fromPitch = 0;
  size_t depth = 1;
  size_t toSlice = 0;
  size_t fromSlice = 0;

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  void operator()() const {
    if (empty()) return;
    for (size_t slice = 0; slice < depth; ++slice)
      for (size_t row = 0; row < height; ++row)
        std::memmove(static_cast<std::byte*>(to) + slice * toSlice + row * toPitch,
                     static_cast<const std::byte*>(from) + slice * fromSlice + row * fromPitch, width);
  }
};

struct Fill {
  void* to;
  int value;
  size_t width;
  size_t height = 1;
  size_t pitch = 0;
  size_t depth = 1;
  size_t slice = 0;

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  void operator()() const {
    if (empty()) return;
    for (size_t i = 0; i < depth; ++i)
      for (size_t row = 0; row < height; ++row)
        std::memset(static_cast<std::byte*>(to) + i * slice + row * pitch, value, width);
  }
};

void check(const Copy& copy, const cudaMemcpyKind& kind) {
  if (rawValue(kind) < cudaMemcpyHostToHost || rawValue(kind) > cudaMemcpyDefault)
    throw cuda_api::CudaFailure(cudaErrorInvalidMemcpyDirection);
  if (!copy.empty() && (copy.to == nullptr || copy.from == nullptr))
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  if (copy.height > 1 && (copy.toPitch < copy.width || copy.fromPitch < copy.width))
    throw cuda_api::CudaFailure(cudaErrorInvalidPitchValue);
  if (copy.depth > 1 &&
      (copy.toSlice < copy.toPitch * copy.height || copy.fromSlice < copy.fromPitch * copy.height))
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
}

void check(const Fill& fill) {
  if (!fill.empty() && fill.to == nullptr) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  if (fill.height > 1 && fill.pitch < fill.width) throw cuda_api::CudaFailure(cudaErrorInvalidPitchValue);
  if (fill.depth > 1 && fill.slice < fill.pitch * fill.height)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
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
  CopyFromProgram(const Copy& asked) : copy(asked), kept(asked.width * asked.height * asked.depth) {
    Copy in = asked;
    in.to = kept.data();
    in.toPitch = asked.width;
    in.toSlice = asked.width * asked.height;
    in();
  }
  void operator()() const {
    Copy out = copy;
    out.from = kept.data();
    out.fromPitch = copy.width;
    out.fromSlice = copy.width * copy.height;
    out();
  }
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

// The start of a box in memory. Its slices have `ysize` rows.
std::byte* startOf(const cudaPitchedPtr& memory, const cudaPos& position) {
  return static_cast<std::byte*>(memory.ptr) + (position.z * memory.ysize + position.y) * memory.pitch +
         position.x;
}

void requireNoArrays(const void* first, const void* second) {
  if (first == nullptr && second == nullptr) return;
  remember(ResultCode::kInvalidUsage, "a copy from or to an array: host devices have no arrays");
  throw cuda_api::CudaFailure(cudaErrorNotSupported);
}

Copy boxOf(const cudaPitchedPtr& to, const cudaPos& toPosition, const cudaPitchedPtr& from,
           const cudaPos& fromPosition, const cudaExtent& extent) {
  Copy copy{startOf(to, toPosition), startOf(from, fromPosition), extent.width};
  if (to.ptr == nullptr) copy.to = nullptr;
  if (from.ptr == nullptr) copy.from = nullptr;
  copy.height = extent.height;
  copy.depth = extent.depth;
  copy.toPitch = to.pitch;
  copy.fromPitch = from.pitch;
  copy.toSlice = to.pitch * to.ysize;
  copy.fromSlice = from.pitch * from.ysize;
  return copy;
}

// Calls `copy` with the box that the parameters mean.
template <typename DoCopy>
cudaError_t copyBox(const cudaMemcpy3DParms* parameters, DoCopy copy) {
  return guardedCuda([&] {
    requireResult(parameters);
    const cudaMemcpy3DParms& p = *parameters;
    requireNoArrays(p.srcArray, p.dstArray);
    return copy(boxOf(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent), p.kind);
  });
}
template <typename DoCopy>
cudaError_t copyBox(const cudaMemcpy3DPeerParms* parameters, DoCopy copy) {
  return guardedCuda([&] {
    requireResult(parameters);
    const cudaMemcpy3DPeerParms& p = *parameters;
    requireNoArrays(p.srcArray, p.dstArray);
    requireDevice(p.srcDevice);
    requireDevice(p.dstDevice);
    return copy(boxOf(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent), cudaMemcpyDefault);
  });
}
template <typename Parameters>
cudaError_t copyBoxNow(const Parameters* parameters, cudaStream_t stream) {
  return copyBox(parameters,
                 [=](const Copy& copy, const cudaMemcpyKind& kind) { return copyNow(copy, kind, stream); });
}
template <typename Parameters>
cudaError_t enqueueBox(const Parameters* parameters, cudaStream_t stream) {
  return copyBox(parameters, [=](const Copy& copy, const cudaMemcpyKind& kind) {
    return enqueueCopy(stream, copy, kind);
  });
}

Fill boxOf(const cudaPitchedPtr& pointer, int value, const cudaExtent& extent) {
  return {pointer.ptr,
          value,
          extent.width,
          extent.height,
          pointer.pitch,
          extent.depth,
          pointer.pitch * pointer.ysize};
}

// The attributes of each copy of a batch: those whose first copy comes last before it.
void checkAttributes(const cudaMemcpyAttributes* attributes, const size_t* firsts, size_t attributeCount,
                     size_t count) {
  bool good = attributes != nullptr && firsts != nullptr && attributeCount > 0 && attributeCount <= count;
  for (size_t i = 0; good && i < attributeCount; ++i)
    good = (i == 0 ? firsts[i] == 0 : firsts[i] > firsts[i - 1]) && firsts[i] < count &&
           rawValue(attributes[i].srcAccessOrder) >= cudaMemcpySrcAccessOrderStream &&
           rawValue(attributes[i].srcAccessOrder) <= cudaMemcpySrcAccessOrderAny;
  if (!good) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
}

}  // namespace

cudaError_t cudaMemcpyBatchAsync(void** destinations, void** sources, size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* firsts, size_t attributeCount,
                                 size_t* failed, cudaStream_t handle) {
  return guardedCuda([&] {
    if (failed != nullptr) *failed = SIZE_MAX;
    if (destinations == nullptr || sources == nullptr || sizes == nullptr || count == 0 ||
        handle == nullptr || handle == cudaStreamLegacy)
      return cudaErrorInvalidValue;
    checkAttributes(attributes, firsts, attributeCount, count);
    cuda_api::CudaStream& stream = requireStream(handle);
    for (size_t i = 0; i < count; ++i) {
      if (sizes[i] > 0 && destinations[i] != nullptr && sources[i] != nullptr) continue;
      if (failed != nullptr) *failed = i;
      return cudaErrorInvalidValue;
    }
    for (size_t i = 0, of = 0; i < count; ++i) {
      while (of + 1 < attributeCount && firsts[of + 1] <= i) ++of;
      const Copy copy{destinations[i], sources[i], sizes[i]};
      const bool readNow = rawValue(attributes[of].srcAccessOrder) == cudaMemcpySrcAccessOrderDuringApiCall;
      if (readNow && !stream.captured())
        enqueueOn(stream, cudaGraphNodeTypeMemcpy, CopyFromProgram(copy));
      else
        enqueueOn(stream, cudaGraphNodeTypeMemcpy, copy);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return copyBoxNow(parameters, cudaStreamLegacy);
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return copyBoxNow(parameters, cudaStreamLegacy);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return enqueueBox(parameters, stream);
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return enqueueBox(parameters, stream);
}
cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return fillNow(boxOf(pointer, value, extent), cudaStreamLegacy);
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream) {
  return enqueueFill(stream, boxOf(pointer, value, extent));
}

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
__attribute__((visibility("default"))) cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* parameters) {
  return copyBoxNow(parameters, cudaStreamPerThread);
}
__attribute__((visibility("default"))) cudaError_t cudaMemcpy3DPeer_ptds(
    const cudaMemcpy3DPeerParms* parameters) {
  return copyBoxNow(parameters, cudaStreamPerThread);
}
__attribute__((visibility("default"))) cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pointer, int value,
                                                                     cudaExtent extent) {
  return fillNow(boxOf(pointer, value, extent), cudaStreamPerThread);
}
__attribute__((visibility("default"))) cudaError_t cudaMemset_ptds(void* pointer, int value, size_t count) {
  return fillNow({pointer, value, count}, cudaStreamPerThread);
}
__attribute__((visibility("default"))) cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value,
                                                                     size_t width, size_t height) {
  return fillNow({pointer, value, width, height, pitch}, cudaStreamPerThread);
}
}
