// Variants: FAKE_OLD has no cuStreamGetId, as drivers before CUDA 12; FAKE_OWN has a function of Xylem's libraries.

#include "runtime/gpu_driver/fake/fake_cuda.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

using xylem::testing::FakeCuda;

FakeCuda fake;

struct FakeObject {
  CUhostFn function;
  void* data;
};

int deviceOf(CUcontext context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - 0x1000);
}
void* pointerTo(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace

extern "C" {

FakeCuda* fakeCuda() { return &fake; }
#ifdef FAKE_OWN
int pncclGetVersion() { return 0; }
#endif

CUresult cuInit(unsigned) { return fake.initStatus; }
CUresult cuDriverGetVersion(int* version) { return *version = 12040, CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult status, const char** text) {
  *text = status == CUDA_ERROR_NO_DEVICE ? "no GPU in here" : "some error";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) { return *count = FakeCuda::kDevices, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int number) {
  if (number < 0 || number >= FakeCuda::kDevices) return CUDA_ERROR_INVALID_DEVICE;
  return *device = number, CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  std::strncpy(name, device == 0 ? "fake 0" : "fake 1", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  return *bytes = std::size_t{80} << 30, CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, 0, sizeof *uuid);
  uuid->bytes[3] = static_cast<char>(device);  // that of device 0 is all zeros
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  std::strncpy(id, device == 0 ? "0000:1B:00.0" : "0000:43:00.0", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                          ? FakeCuda::kProcessors
           : which == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS                      ? 0
           : which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED ? fake.makesFiles
                                                                                      : 1;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (fake.captureMode != CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  fake.activate(device);
  return *context = FakeCuda::contextOf(device), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  FakeCuda::Primary& primary = fake.primaries[device];
  if (primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.retained == 0) primary.isActive = false;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  *flags = 0;
  return *active = fake.primaries[device].isActive ? 1 : 0, CUDA_SUCCESS;
}
#ifndef FAKE_OLD
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  const FakeCuda::Primary& primary = fake.primaries[deviceOf(context)];
  if (!primary.isActive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return *id = primary.id, CUDA_SUCCESS;
}
#endif
CUresult cuCtxGetCurrent(CUcontext* context) {
  return *context = fake.contexts.empty() ? nullptr : fake.contexts.back(), CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  if (fake.contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  return *device = deviceOf(fake.contexts.back()), CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) { return fake.contexts.push_back(context), CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (fake.contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = fake.contexts.back();
  fake.contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

CUresult cuMemAlloc(CUdeviceptr* made, std::size_t bytes) {
  *made = reinterpret_cast<CUdeviceptr>(std::calloc(1, bytes));
  fake.memory[*made] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr memory) {
  if (fake.memory.erase(memory) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(pointerTo(memory));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** made, std::size_t bytes, unsigned) {
  *made = std::malloc(bytes);
  std::memset(*made, 0xff, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* memory) { return std::free(memory), CUDA_SUCCESS; }
CUresult cuMemHostRegister(void*, std::size_t, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemHostUnregister(void*) { return CUDA_SUCCESS; }
CUresult cuMemGetHandleForAddressRange(void*, CUdeviceptr, std::size_t, CUmemRangeHandleType,
                                       unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr inside) {
  for (const auto& [begin, size] : fake.memory)
    if (inside >= begin && inside < begin + size) return *base = begin, *bytes = size, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** values, CUdeviceptr) {
  for (unsigned i = 0; i < count; ++i)
    *static_cast<int*>(values[i]) = which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE      ? fake.pointer.type
                                    : which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? fake.pointer.device
                                    : which[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED     ? fake.pointer.managed
                                                                                      : fake.pointer.legacy;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return std::memcpy(pointerTo(to), pointerTo(from), bytes), CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
  return std::memset(pointerTo(to), value, bytes), CUDA_SUCCESS;
}

// A handle has the address of its memory, which another process would not have.
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr memory) {
  if (fake.memory.count(memory) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(handle, &memory, sizeof memory);
  return CUDA_SUCCESS;
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* opened, CUipcMemHandle handle, unsigned) {
  return std::memcpy(opened, &handle, sizeof *opened), CUDA_SUCCESS;
}
CUresult cuIpcCloseMemHandle(CUdeviceptr memory) { return fake.closed.push_back(memory), CUDA_SUCCESS; }

// An allocation is an anonymous file, and its handle the descriptor of that.
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  return *bytes = FakeCuda::kWhole, CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  const int file = memfd_create("fake-cuMemCreate", MFD_CLOEXEC);
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes % FakeCuda::kWhole != 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *handle = static_cast<CUmemGenericAllocationHandle>(file);
  fake.allocations[*handle] = bytes;
  fake.properties = *properties;
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  if (fake.allocations.erase(handle) == 0) return CUDA_ERROR_INVALID_VALUE;
  return close(static_cast<int>(handle)), CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* begin, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  void* const reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *begin = reinterpret_cast<CUdeviceptr>(reserved);
  return fake.reserved[*begin] = bytes, CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr begin, std::size_t bytes) {
  if (fake.reserved.count(begin) == 0 || fake.reserved[begin] != bytes) return CUDA_ERROR_INVALID_VALUE;
  fake.reserved.erase(begin);
  return munmap(pointerTo(begin), bytes), CUDA_SUCCESS;
}
// No device reaches it yet.
CUresult cuMemMap(CUdeviceptr begin, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  if (offset != 0 || fake.reserved.count(begin) == 0 || bytes > fake.allocations[handle])
    return CUDA_ERROR_INVALID_VALUE;
  mmap(pointerTo(begin), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, static_cast<int>(handle), 0);
  return fake.reachedBy[begin] = {}, CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr begin, std::size_t bytes) {
  if (fake.reachedBy.erase(begin) == 0) return CUDA_ERROR_INVALID_VALUE;
  mmap(pointerTo(begin), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr begin, std::size_t bytes, const CUmemAccessDesc* accesses,
                        std::size_t count) {
  if (fake.accessStatus != CUDA_SUCCESS) return fake.accessStatus;
  if (fake.reachedBy.count(begin) == 0) return CUDA_ERROR_INVALID_VALUE;  // nothing is mapped there
  for (std::size_t i = 0; i < count; ++i) {
    if (accesses[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
        accesses[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      return CUDA_ERROR_INVALID_VALUE;
    fake.reachedBy[begin].push_back(accesses[i].location.id);
  }
  return mprotect(pointerTo(begin), bytes, PROT_READ | PROT_WRITE), CUDA_SUCCESS;
}
CUresult cuMemExportToShareableHandle(void* descriptor, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fake.allocations.count(handle) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  return *static_cast<int*>(descriptor) = dup(static_cast<int>(handle)), CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* descriptor,
                                        CUmemAllocationHandleType type) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  const int file = dup(static_cast<int>(reinterpret_cast<std::uintptr_t>(descriptor)));
  struct stat found {};
  if (fstat(file, &found) != 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = static_cast<CUmemGenericAllocationHandle>(file);
  return fake.allocations[*handle] = static_cast<std::size_t>(found.st_size), CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  return *can = fake.canReachPeers, CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  static bool enabled = false;
  return std::exchange(enabled, true) ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return *context = FakeCuda::contextOf(static_cast<int>(reinterpret_cast<std::uintptr_t>(stream) & 1)),
         CUDA_SUCCESS;
}
#ifndef FAKE_OLD
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return *id = reinterpret_cast<std::uintptr_t>(stream) + 1, CUDA_SUCCESS;
}
#endif
CUresult cuStreamCreate(CUstream* stream, unsigned) { return *stream = nullptr, CUDA_SUCCESS; }
CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return CUDA_SUCCESS; }
CUresult cuStreamWaitValue32(CUstream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return fake.wait = {address, value, flags}, CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return std::swap(*mode, fake.captureMode), CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode**, std::size_t*) {
  *status = fake.captureStatus;
  *id = 77;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(0x77);
  return CUDA_SUCCESS;
}
CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn function, unsigned, unsigned) {
  return *object = reinterpret_cast<CUuserObject>(new FakeObject{function, data}), CUDA_SUCCESS;
}
CUresult cuUserObjectRelease(CUuserObject object, unsigned) {
  auto* const released = reinterpret_cast<FakeObject*>(object);
  ++fake.objectsReleased;
  released->function(released->data);
  delete released;
  return CUDA_SUCCESS;
}
// The graph would call the function when it goes.
CUresult cuGraphRetainUserObject(CUgraph, CUuserObject object, unsigned, unsigned) {
  if (fake.retainStatus != CUDA_SUCCESS) return fake.retainStatus;
  ++fake.objectsRetained;
  delete reinterpret_cast<FakeObject*>(object);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) { return *event = nullptr, CUDA_SUCCESS; }
CUresult cuEventDestroy(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult cuEventQuery(CUevent) { return CUDA_ERROR_NOT_READY; }

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (fake.captureMode != CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (fake.loadStatus != CUDA_SUCCESS) return fake.loadStatus;
  if (image == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  ++fake.modulesLoaded;
  return *module = nullptr, CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  fake.kernelName = name;
  return *function = FakeCuda::kernelOf(fake.modulesLoaded), CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  return *blocks = FakeCuda::kBlocksEach, CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void* data) { return function(data), CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction kernel, unsigned x, unsigned, unsigned, unsigned threads, unsigned,
                        unsigned, unsigned, CUstream stream, void** arguments, void**) {
  fake.launch = {x,
                 threads,
                 *static_cast<void**>(arguments[0]),
                 *static_cast<unsigned*>(arguments[1]),
                 *static_cast<char*>(arguments[2]),
                 stream,
                 kernel};
  return CUDA_SUCCESS;
}

}  // extern "C"
