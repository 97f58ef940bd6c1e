// host/cuda_runtime_api.h: memory.

#include <unistd.h>

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/allocation_table.h"
#include "runtime/cuda_api/ipc.h"

using namespace xylem;
using namespace xylem::api;

namespace {

constexpr unsigned kHostAllocFlags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr unsigned kHostRegisterFlags =
    cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
// As on GPUs, rows start at multiples of this many bytes.
constexpr size_t kPitch = 512;

// Throws CudaFailure if there is not enough memory.
void* allocate(cudaMemoryType type, size_t size, unsigned flags) {
  try {
    return cuda_api::AllocationTable::instance().allocate(
        {.type = type, .device = device::currentDevice(), .flags = flags}, size);
  } catch (const Error&) {
    throw cuda_api::CudaFailure(cudaErrorMemoryAllocation);
  }
}

cudaError_t allocate(cudaMemoryType type, void** pointer, size_t size, unsigned flags = 0) {
  return guardedCuda([&] {
    requireResult(pointer);
    *pointer = nullptr;
    cuda_api::Capture::forbidUnsafe();
    *pointer = allocate(type, size, flags);
    return cudaSuccess;
  });
}

// Waits for work that may still use the memory.
cudaError_t release(void* pointer, cuda_api::AllocationTable::Kind kind) {
  return guardedCuda([&] {
    if (pointer == nullptr) return cudaSuccess;
    const std::optional<cuda_api::Allocation> memory =
        cuda_api::AllocationTable::instance().startingAt(pointer);
    if (!memory || !cuda_api::AllocationTable::is(*memory, kind)) return cudaErrorInvalidValue;
    cuda_api::Capture::forbidUnsafe();
    const cudaError_t outcome = waitForDevice(memory->device);
    return cuda_api::AllocationTable::instance().free(pointer, kind) ? outcome : cudaErrorInvalidValue;
  });
}

std::optional<cuda_api::Allocation> hostMemoryAt(const void* pointer) {
  auto memory = cuda_api::AllocationTable::instance().find(pointer);
  return memory && memory->type == cudaMemoryTypeHost ? memory : std::nullopt;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t size) { return allocate(cudaMemoryTypeDevice, pointer, size); }
cudaError_t cudaFree(void* pointer) { return release(pointer, cuda_api::AllocationTable::kOfDevice); }

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return rememberCuda(cudaErrorInvalidValue);
  return allocate(cudaMemoryTypeManaged, pointer, size);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr || width > SIZE_MAX - kPitch) return rememberCuda(cudaErrorInvalidValue);
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  size_t size = 0;
  if (__builtin_mul_overflow(*pitch, height, &size)) return rememberCuda(cudaErrorMemoryAllocation);
  return allocate(cudaMemoryTypeDevice, pointer, size);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (pointer == nullptr) return rememberCuda(cudaErrorInvalidValue);
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
    return rememberCuda(cudaErrorMemoryAllocation);
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, rows);
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return allocate(cudaMemoryTypeHost, pointer, size);
}
cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned flags) {
  if ((flags & ~kHostAllocFlags) != 0) return rememberCuda(cudaErrorInvalidValue);
  return allocate(cudaMemoryTypeHost, pointer, size, flags);
}
cudaError_t cudaFreeHost(void* pointer) { return release(pointer, cuda_api::AllocationTable::kOfHost); }

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned flags) {
  return guardedCuda([&] {
    auto* start = static_cast<std::byte*>(pointer);
    if (start == nullptr || size == 0 || (flags & ~kHostRegisterFlags) != 0) return cudaErrorInvalidValue;
    if (size > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(start)) return cudaErrorInvalidValue;
    const cuda_api::Allocation memory{.type = cudaMemoryTypeHost,
                                      .device = device::currentDevice(),
                                      .flags = flags,
                                      .registered = true,
                                      .start = start,
                                      .bytes = size};
    return cuda_api::AllocationTable::instance().add(memory) ? cudaSuccess
                                                             : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return guardedCuda([&] {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    return cuda_api::AllocationTable::instance().free(pointer, cuda_api::AllocationTable::kRegistered)
               ? cudaSuccess
               : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t cudaHostGetDevicePointer(void** devicePointer, void* hostPointer, unsigned flags) {
  return guardedCuda([&] {
    requireResult(devicePointer);
    if (flags != 0 || !hostMemoryAt(hostPointer)) return cudaErrorInvalidValue;
    *devicePointer = hostPointer;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* hostPointer) {
  return guardedCuda([&] {
    requireResult(flags);
    const std::optional<cuda_api::Allocation> memory = hostMemoryAt(hostPointer);
    if (!memory) return cudaErrorInvalidValue;
    // All host memory is mapped, even if the program did not ask for that.
    *flags = memory->flags | cudaHostAllocMapped;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return guardedCuda([&] {
    requireResult(attributes);
    void* same = const_cast<void*>(pointer);
    cudaPointerAttributes known{cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, same};
    if (const auto memory = cuda_api::AllocationTable::instance().find(pointer))
      known = {memory->type, memory->device, same, memory->type == cudaMemoryTypeDevice ? nullptr : same};
    else if (cuda_api::ipcBytesAt(pointer) > 0)
      known = {cudaMemoryTypeDevice, device::currentDevice(), same, nullptr};
    *attributes = known;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, int device, cudaStream_t handle) {
  return guardedCuda([&] {
    requireStream(handle);
    if (device != cudaCpuDeviceId) requireDevice(device);
    const auto memory = cuda_api::AllocationTable::instance().find(pointer);
    const bool managed = memory && memory->type == cudaMemoryTypeManaged;
    return managed && count > 0 ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise advice, int device) {
  const bool known =
      rawValue(advice) >= cudaMemAdviseSetReadMostly && rawValue(advice) <= cudaMemAdviseUnsetAccessedBy;
  return known ? cudaMemPrefetchAsync(pointer, count, device, nullptr) : rememberCuda(cudaErrorInvalidValue);
}
