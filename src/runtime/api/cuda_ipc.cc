// host/cuda_runtime_api.h: between processes.

#include <cstring>

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/cuda_handles.h"
#include "runtime/cuda_api/allocation_table.h"
#include "runtime/cuda_api/ipc.h"

using namespace xylem;
using namespace xylem::api;

namespace {

template <typename Handle>
Handle pack(const cuda_api::IpcName& name) {
  Handle handle{};
  std::memcpy(handle.reserved, &name, sizeof name);
  return handle;
}

template <typename Handle>
cuda_api::IpcName unpack(const Handle& handle) {
  cuda_api::IpcName name;
  std::memcpy(&name, handle.reserved, sizeof name);
  return name;
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return guardedCuda([&] {
    requireResult(handle);
    const std::optional<cuda_api::Allocation> memory = cuda_api::AllocationTable::instance().find(pointer);
    if (!memory || memory->type != cudaMemoryTypeDevice) return cudaErrorInvalidValue;
    *handle = pack<cudaIpcMemHandle_t>(
        cuda_api::nameForIpc(memory->start, memory->bytes, cuda_api::IpcKind::kMemory));
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  return guardedCuda([&] {
    requireResult(pointer);
    *pointer = nullptr;
    if (flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
    *pointer = cuda_api::openIpc(unpack(handle), cuda_api::IpcKind::kMemory);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return guardedCuda([&] {
    if (cuda_api::ipcBytesAt(pointer) == 0) return cudaErrorInvalidValue;
    const cudaError_t outcome = waitForDevice(device::currentDevice());
    return cuda_api::closeIpc(pointer) ? outcome : cudaErrorInvalidValue;
  });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return guardedCuda([&] {
    requireResult(handle);
    *handle = pack<cudaIpcEventHandle_t>(requireEvent(event).name());
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return guardedCuda([&] {
    requireResult(event);
    *event = nullptr;
    *event = std::make_unique<CUevent_st>(unpack(handle)).release();
    return cudaSuccess;
  });
}
