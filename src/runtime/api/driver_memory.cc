// host/cuda.h: memory that has an address from the start.

#include <algorithm>
#include <cstring>

#include "runtime/api/driver_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/allocation_table.h"

using namespace xylem;
using namespace xylem::api;

namespace {

// Runs a function of the runtime that stores a pointer.
template <typename Allocate>
CUresult allocate(CUdeviceptr* memory, Allocate allocate) {
  return guardedDriver([&] {
    requireResult(memory);
    void* made = nullptr;
    const cudaError_t result = allocate(&made);
    if (result == cudaSuccess) *memory = pointerOf(made);
    return result;
  });
}

CUresult copy(void* to, const void* from, size_t bytes) {
  return guardedDriver([&] { return cudaMemcpy(to, from, bytes, cudaMemcpyDefault); });
}
CUresult copyAsync(void* to, const void* from, size_t bytes, CUstream stream) {
  return guardedDriver([&] { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream); });
}

template <typename Element>
cudaError_t setAsync(CUdeviceptr memory, Element value, size_t count, CUstream stream) {
  if (memory % sizeof(Element) != 0) return cudaErrorInvalidValue;
  auto* const start = static_cast<Element*>(addressOf(memory));
  enqueueOn(requireStream(stream), cudaGraphNodeTypeMemset, [=] { std::fill_n(start, count, value); });
  return cudaSuccess;
}
template <typename Element>
CUresult set(CUdeviceptr memory, Element value, size_t count) {
  return guardedDriver([&] {
    const cudaError_t result = setAsync(memory, value, count, nullptr);
    return result == cudaSuccess ? cudaStreamSynchronize(nullptr) : result;
  });
}

template <typename Value>
cudaError_t store(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
  return cudaSuccess;
}

// Stores an attribute of memory; without memory, zero.
cudaError_t tell(void* value, CUpointer_attribute attribute, const cuda_api::Allocation* memory,
                 CUdeviceptr pointer) {
  requireResult(value);
  const bool device = memory != nullptr && memory->type != cudaMemoryTypeHost;
  switch (rawValue(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return store(value, memory == nullptr ? nullptr : primaryContext(memory->device));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return store(value, memory == nullptr ? 0u
                          : device          ? unsigned{CU_MEMORYTYPE_DEVICE}
                                            : unsigned{CU_MEMORYTYPE_HOST});
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return store(value, memory == nullptr ? CUdeviceptr{0} : pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return store(value,
                   memory == nullptr || memory->type == cudaMemoryTypeDevice ? nullptr : addressOf(pointer));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return store(value, memory == nullptr ? 0ull : static_cast<unsigned long long>(memory->number));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return store(value, memory == nullptr ? int{CU_DEVICE_INVALID} : memory->device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return store(value, memory == nullptr ? CUdeviceptr{0} : pointerOf(memory->start));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return store(value, memory == nullptr ? std::size_t{0} : memory->bytes);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return store(value, memory == nullptr ? 0 : int{CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return store(value, static_cast<unsigned char>(memory != nullptr));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return store(value, static_cast<unsigned char>(device && !memory->registered));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return store(value,
                   static_cast<unsigned char>(memory != nullptr && memory->type == cudaMemoryTypeManaged));
    // Calls that copy are synchronous for all memory.
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return store(value, static_cast<unsigned char>(0));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return store(value, 0ull);
  }
  return cudaErrorInvalidValue;
}

std::optional<cuda_api::Allocation> memoryAt(CUdeviceptr pointer) {
  return cuda_api::AllocationTable::instance().find(addressOf(pointer));
}

}  // namespace

CUresult cuMemGetInfo(size_t* available, size_t* total) {
  return guardedDriver([&] { return cudaMemGetInfo(available, total); });
}
CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return allocate(memory, [&](void** made) { return cudaMalloc(made, bytes); });
}
CUresult cuMemAllocPitch(CUdeviceptr* memory, size_t* pitch, size_t width, size_t height, unsigned) {
  return allocate(memory, [&](void** made) { return cudaMallocPitch(made, pitch, width, height); });
}
CUresult cuMemAllocManaged(CUdeviceptr* memory, size_t bytes, unsigned flags) {
  return allocate(memory, [&](void** made) { return cudaMallocManaged(made, bytes, flags); });
}
CUresult cuMemAllocAsync(CUdeviceptr* memory, size_t bytes, CUstream stream) {
  return allocate(memory, [&](void** made) { return cudaMallocAsync(made, bytes, stream); });
}
CUresult cuMemFree(CUdeviceptr memory) {
  return guardedDriver([&] { return cudaFree(addressOf(memory)); });
}
CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
  return guardedDriver([&] { return cudaFreeAsync(addressOf(memory), stream); });
}
CUresult cuMemAllocHost(void** memory, size_t bytes) {
  return guardedDriver([&] { return cudaMallocHost(memory, bytes); });
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  return guardedDriver([&] { return cudaHostAlloc(memory, bytes, flags); });
}
CUresult cuMemFreeHost(void* memory) {
  return guardedDriver([&] { return cudaFreeHost(memory); });
}
CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned flags) {
  return guardedDriver([&] { return cudaHostRegister(memory, bytes, flags); });
}
CUresult cuMemHostUnregister(void* memory) {
  return guardedDriver([&] { return cudaHostUnregister(memory); });
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned flags) {
  return allocate(device, [&](void** found) { return cudaHostGetDevicePointer(found, host, flags); });
}
CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return guardedDriver([&] { return cudaHostGetFlags(flags, host); });
}

CUresult cuMemGetAddressRange(CUdeviceptr* start, size_t* bytes, CUdeviceptr pointer) {
  return guardedDriver([&] {
    const auto memory = memoryAt(pointer);
    if (!memory) return cudaErrorSymbolNotFound;  // CUDA_ERROR_NOT_FOUND
    if (start != nullptr) *start = pointerOf(memory->start);
    if (bytes != nullptr) *bytes = memory->bytes;
    return cudaSuccess;
  });
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return guardedDriver([&] {
    const auto memory = memoryAt(pointer);
    return memory ? tell(value, attribute, &*memory, pointer) : cudaErrorInvalidValue;
  });
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr pointer) {
  return guardedDriver([&] {
    requireResult(attributes);
    requireResult(values);
    const auto memory = memoryAt(pointer);
    for (unsigned i = 0; i < count; ++i)
      if (const cudaError_t result = tell(values[i], attributes[i], memory ? &*memory : nullptr, pointer))
        return result;
    return cudaSuccess;
  });
}
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return guardedDriver([&] {
    requireResult(value);
    // The only one that may be set, and true anyway.
    const bool known = rawValue(attribute) == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && memoryAt(pointer);
    return known ? cudaSuccess : cudaErrorInvalidValue;
  });
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(addressOf(to), addressOf(from), bytes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyAsync(addressOf(to), addressOf(from), bytes, stream);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return copy(addressOf(to), from, bytes);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) { return copy(to, addressOf(from), bytes); }
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return cuMemcpy(to, from, bytes); }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copyAsync(addressOf(to), from, bytes, stream);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyAsync(to, addressOf(from), bytes, stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpyAsync(to, from, bytes, stream);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext,
                      size_t bytes) {
  return guardedDriver([&] {
    return cudaMemcpyPeer(addressOf(to), deviceOfContext(toContext), addressOf(from),
                          deviceOfContext(fromContext), bytes);
  });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext,
                           size_t bytes, CUstream stream) {
  return guardedDriver([&] {
    return cudaMemcpyPeerAsync(addressOf(to), deviceOfContext(toContext), addressOf(from),
                               deviceOfContext(fromContext), bytes, stream);
  });
}

CUresult cuMemsetD8(CUdeviceptr memory, unsigned char value, size_t count) {
  return set(memory, value, count);
}
CUresult cuMemsetD16(CUdeviceptr memory, unsigned short value, size_t count) {
  return set(memory, value, count);
}
CUresult cuMemsetD32(CUdeviceptr memory, unsigned value, size_t count) { return set(memory, value, count); }
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t count, CUstream stream) {
  return guardedDriver([&] { return setAsync(memory, value, count, stream); });
}
CUresult cuMemsetD16Async(CUdeviceptr memory, unsigned short value, size_t count, CUstream stream) {
  return guardedDriver([&] { return setAsync(memory, value, count, stream); });
}
CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned value, size_t count, CUstream stream) {
  return guardedDriver([&] { return setAsync(memory, value, count, stream); });
}

static_assert(sizeof(CUipcMemHandle) == sizeof(cudaIpcMemHandle_t));
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr memory) {
  return guardedDriver([&] {
    requireResult(handle);
    cudaIpcMemHandle_t name;
    const cudaError_t result = cudaIpcGetMemHandle(&name, addressOf(memory));
    if (result == cudaSuccess) std::memcpy(handle, &name, sizeof name);
    return result;
  });
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* memory, CUipcMemHandle handle, unsigned flags) {
  cudaIpcMemHandle_t name;
  std::memcpy(&name, &handle, sizeof name);
  return allocate(memory, [&](void** opened) { return cudaIpcOpenMemHandle(opened, name, flags); });
}
CUresult cuIpcCloseMemHandle(CUdeviceptr memory) {
  return guardedDriver([&] { return cudaIpcCloseMemHandle(addressOf(memory)); });
}

CUresult cuMemGetHandleForAddressRange(void*, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope) {
  return CUDA_SUCCESS;
}
