// host/cuda.h: start, errors, devices and contexts.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/per_thread.h"
#include "runtime/api/driver_boundary.h"
#include "runtime/api/raw_value.h"

using namespace xylem;
using namespace xylem::api;

struct CUctx_st {
  int device = 0;
  unsigned flags = 0;
};

// Programs of CUDA 12 call this one without a version.
extern "C" CUresult uuidOfCuda12(CUuuid* uuid, CUdevice device) __asm__("cuDeviceGetUuid")
    __attribute__((visibility("default")));

namespace {

constexpr unsigned kApiVersion = 3020;

// All contexts of the process. Primary ones live for ever.
struct Contexts {
  std::mutex mutex;
  std::map<int, CUctx_st> primary;
  std::map<int, int> retained;  // by device
  std::map<const CUctx_st*, std::unique_ptr<CUctx_st>> made;
};
Contexts& contexts() {
  static Contexts& all = *std::make_unique<Contexts>().release();
  return all;
}

// The contexts that this thread has made current, the current one last.
struct ContextStack {
  std::vector<CUcontext> all;
};
std::vector<CUcontext>& stack() { return xylem::perThread<ContextStack>().all; }

CUcontext currentContext() {
  const int device = device::currentDevice();
  if (!stack().empty() && stack().back()->device == device) return stack().back();
  return primaryContext(device);
}

void push(CUcontext context) {
  device::setCurrentDevice(deviceOfContext(context));
  stack().push_back(context);
}

cudaError_t make(CUcontext* context, unsigned flags, int device) {
  requireResult(context);
  requireDevice(device);
  auto made = std::make_unique<CUctx_st>(CUctx_st{device, flags});
  *context = made.get();
  {
    const std::lock_guard lock(contexts().mutex);
    contexts().made[made.get()] = std::move(made);
  }
  push(*context);
  return cudaSuccess;
}

struct ErrorText {
  CUresult number;
  const char* name;
};
#define XYLEM_DRIVER_ERROR(NAME, NUMBER) ErrorText{NAME, #NAME},
constexpr std::array kErrors{XYLEM_DRIVER_ERRORS(XYLEM_DRIVER_ERROR)};
#undef XYLEM_DRIVER_ERROR

const ErrorText* textOf(CUresult error) {
  const int number = rawValue(error);
  const auto found = std::find_if(kErrors.begin(), kErrors.end(),
                                  [&](const ErrorText& text) { return rawValue(text.number) == number; });
  return found == kErrors.end() ? nullptr : &*found;
}

}  // namespace

namespace xylem::api {

CUcontext primaryContext(int device) {
  const std::lock_guard lock(contexts().mutex);
  CUctx_st& context = contexts().primary[device];
  context.device = device;
  return &context;
}

int deviceOfContext(CUcontext context) {
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  const bool primary = std::any_of(all.primary.begin(), all.primary.end(),
                                   [&](const auto& entry) { return &entry.second == context; });
  if (!primary && !all.made.contains(context)) throw cuda_api::CudaFailure(cudaErrorDeviceUninitialized);
  return context->device;
}

}  // namespace xylem::api

CUresult cuInit(unsigned flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
CUresult cuDriverGetVersion(int* version) {
  return guardedDriver([&] { return cudaDriverGetVersion(version); });
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* known = textOf(error);
  *text = known == nullptr ? nullptr : known->name;
  return known == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool known = textOf(error) != nullptr;
  *text = known ? cudaGetErrorString(static_cast<cudaError_t>(rawValue(error))) : nullptr;
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return guardedDriver([&] {
    requireResult(device);
    requireDevice(ordinal);
    *device = ordinal;
    return cudaSuccess;
  });
}
CUresult cuDeviceGetCount(int* count) {
  return guardedDriver([&] { return cudaGetDeviceCount(count); });
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return guardedDriver([&] {
    if (name == nullptr || length < 1) return cudaErrorInvalidValue;
    cudaDeviceProp properties;
    const cudaError_t result = cudaGetDeviceProperties(&properties, device);
    if (result != cudaSuccess) return result;
    std::strncpy(name, properties.name, static_cast<std::size_t>(length) - 1);
    name[length - 1] = 0;
    return cudaSuccess;
  });
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return guardedDriver([&] {
    requireResult(uuid);
    cudaDeviceProp properties;
    const cudaError_t result = cudaGetDeviceProperties(&properties, device);
    if (result == cudaSuccess) *uuid = properties.uuid;
    return result;
  });
}
CUresult uuidOfCuda12(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid(uuid, device); }
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return guardedDriver([&] {
    requireResult(bytes);
    cudaDeviceProp properties;
    const cudaError_t result = cudaGetDeviceProperties(&properties, device);
    if (result == cudaSuccess) *bytes = properties.totalGlobalMem;
    return result;
  });
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return guardedDriver([&] {
    switch (rawValue(attribute)) {
      case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
      case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
        requireResult(value);
        requireDevice(device);
        *value = 1;
        return cudaSuccess;
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
        requireResult(value);
        requireDevice(device);
        *value = 0;
        return cudaSuccess;
    }
    return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(rawValue(attribute)), device);
  });
}
CUresult cuDeviceGetPCIBusId(char* busId, int length, CUdevice device) {
  return guardedDriver([&] { return cudaDeviceGetPCIBusId(busId, length, device); });
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* busId) {
  return guardedDriver([&] { return cudaDeviceGetByPCIBusId(device, busId); });
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return guardedDriver([&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device,
                                 CUdevice peer) {
  return guardedDriver([&] {
    return cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(rawValue(attribute)), device,
                                     peer);
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return guardedDriver([&] {
    requireResult(context);
    requireDevice(device);
    *context = primaryContext(device);
    const std::lock_guard lock(contexts().mutex);
    ++contexts().retained[device];
    return cudaSuccess;
  });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return guardedDriver([&] {
    requireDevice(device);
    const std::lock_guard lock(contexts().mutex);
    int& retained = contexts().retained[device];
    if (retained == 0) return cudaErrorDeviceUninitialized;
    --retained;
    return cudaSuccess;
  });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return guardedDriver([&] {
    requireDevice(device);
    return waitForDevice(device);
  });
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return guardedDriver([&] {
    requireDevice(device);
    if ((flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) return cudaErrorInvalidValue;
    const CUcontext context = primaryContext(device);
    const std::lock_guard lock(contexts().mutex);
    context->flags = flags;
    return cudaSuccess;
  });
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return guardedDriver([&] {
    requireResult(flags);
    requireResult(active);
    requireDevice(device);
    const CUcontext context = primaryContext(device);
    const std::lock_guard lock(contexts().mutex);
    *flags = context->flags;
    *active = contexts().retained[device] > 0 ? 1 : 0;
    return cudaSuccess;
  });
}

CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  return guardedDriver([&] { return make(context, flags, device); });
}
CUresult cuCtxCreate_v4(CUcontext* context, void* parameters, unsigned flags, CUdevice device) {
  return guardedDriver(
      [&] { return parameters == nullptr ? make(context, flags, device) : cudaErrorNotSupported; });
}
CUresult cuCtxDestroy(CUcontext context) {
  return guardedDriver([&] {
    const cudaError_t outcome = waitForDevice(deviceOfContext(context));
    std::unique_ptr<CUctx_st> made;
    {
      const std::lock_guard lock(contexts().mutex);
      const auto found = contexts().made.find(context);
      if (found == contexts().made.end()) return cudaErrorDeviceUninitialized;  // a primary one
      made = std::move(found->second);
      contexts().made.erase(found);
    }
    std::erase(stack(), context);
    return outcome;
  });
}
CUresult cuCtxPushCurrent(CUcontext context) {
  return guardedDriver([&] {
    push(context);
    return cudaSuccess;
  });
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  return guardedDriver([&] {
    if (stack().empty()) return cudaErrorDeviceUninitialized;
    if (context != nullptr) *context = stack().back();
    stack().pop_back();
    if (!stack().empty()) device::setCurrentDevice(deviceOfContext(stack().back()));
    return cudaSuccess;
  });
}
CUresult cuCtxSetCurrent(CUcontext context) {
  return guardedDriver([&] {
    if (context != nullptr) deviceOfContext(context);  // before anything changes
    if (!stack().empty()) stack().pop_back();
    if (context != nullptr) push(context);
    return cudaSuccess;
  });
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return guardedDriver([&] {
    requireResult(context);
    *context = currentContext();
    return cudaSuccess;
  });
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return guardedDriver([&] { return cudaGetDevice(device); });
}
CUresult cuCtxGetFlags(unsigned* flags) {
  return guardedDriver([&] {
    requireResult(flags);
    *flags = currentContext()->flags;
    return cudaSuccess;
  });
}
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  return guardedDriver([&] {
    requireResult(version);
    if (context != nullptr) deviceOfContext(context);
    *version = kApiVersion;
    return cudaSuccess;
  });
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return guardedDriver([&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}
CUresult cuCtxSynchronize(void) {
  return guardedDriver([] { return cudaDeviceSynchronize(); });
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return guardedDriver([&] { return cudaDeviceEnablePeerAccess(deviceOfContext(peer), flags); });
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return guardedDriver([&] { return cudaDeviceDisablePeerAccess(deviceOfContext(peer)); });
}
