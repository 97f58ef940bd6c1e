// libxylem-cuda.so: the driver (runtime/gpu/driver.h) over NVIDIA's driver API, and the kernel for its GPUs. It opens libcuda.so.1 when
// it is asked for, so that it can be installed where there is none.

#include <cuda.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/gpu/block.h"
#include "runtime/gpu/driver.h"

// The kernel as machine code of several architectures, and as PTX for newer ones (cmake/xylem_cuda.cmake).
asm(R"(
.section .rodata
.balign 64
xylemKernels:
.incbin ")" XYLEM_KERNELS R"("
.byte 0
.previous
)");
extern "C" const unsigned char kernelImage[] asm("xylemKernels");

namespace xylem::gpu {
namespace {

// Functions by the names that cuda.h gives them for this version of the API, such as cuMemAlloc_v2.
// clang-format off
#define XYLEM_CUDA_FUNCTIONS(ROW) \
  ROW(cuInit) ROW(cuDriverGetVersion) ROW(cuGetErrorString) ROW(cuDeviceGetCount) ROW(cuDeviceGet) \
  ROW(cuDeviceGetName) ROW(cuDeviceTotalMem) ROW(cuDeviceGetUuid) ROW(cuDeviceGetPCIBusId) \
  ROW(cuDeviceGetAttribute) ROW(cuDevicePrimaryCtxRetain) ROW(cuDevicePrimaryCtxRelease) \
  ROW(cuDevicePrimaryCtxGetState) ROW(cuCtxGetCurrent) ROW(cuCtxGetDevice) \
  ROW(cuCtxPushCurrent) ROW(cuCtxPopCurrent) ROW(cuMemAlloc) ROW(cuMemFree) ROW(cuMemHostAlloc) \
  ROW(cuMemFreeHost) ROW(cuMemHostRegister) ROW(cuMemHostUnregister) ROW(cuMemGetHandleForAddressRange) \
  ROW(cuPointerGetAttributes) ROW(cuMemcpyAsync) ROW(cuStreamGetCtx) ROW(cuStreamGetId) \
  ROW(cuStreamCreate) ROW(cuStreamDestroy) ROW(cuStreamSynchronize) ROW(cuMemsetD8Async) \
  ROW(cuMemGetAddressRange) ROW(cuIpcGetMemHandle) ROW(cuIpcOpenMemHandle) ROW(cuIpcCloseMemHandle) \
  ROW(cuCtxSynchronize) ROW(cuDeviceCanAccessPeer) ROW(cuCtxEnablePeerAccess) \
  ROW(cuThreadExchangeStreamCaptureMode) ROW(cuUserObjectCreate) ROW(cuUserObjectRelease) \
  ROW(cuGraphRetainUserObject) ROW(cuEventCreate) ROW(cuEventDestroy) ROW(cuEventRecord) \
  ROW(cuStreamWaitEvent) ROW(cuEventQuery) ROW(cuStreamWaitValue32) ROW(cuModuleLoadData) \
  ROW(cuModuleGetFunction) ROW(cuLaunchHostFunc) ROW(cuLaunchKernel) \
  ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor) ROW(cuMemGetAllocationGranularity) ROW(cuMemCreate) \
  ROW(cuMemRelease) ROW(cuMemAddressReserve) ROW(cuMemAddressFree) ROW(cuMemMap) ROW(cuMemUnmap) \
  ROW(cuMemSetAccess) ROW(cuMemExportToShareableHandle) ROW(cuMemImportFromShareableHandle) \
  ROW(cuCtxGetId)
// clang-format on

// Newer headers name a later form of it, which older drivers do not have.
using CaptureInfo = CUresult (*)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**,
                                 std::size_t*);
constexpr const char* kCaptureInfo = "cuStreamGetCaptureInfo_v2";

struct Functions {
#define XYLEM_ROW(NAME) decltype(&::NAME) NAME = nullptr;
  XYLEM_CUDA_FUNCTIONS(XYLEM_ROW)
#undef XYLEM_ROW
};
Functions cuda;
CaptureInfo captureInfo = nullptr;

#define XYLEM_QUOTED(NAME) #NAME
#define XYLEM_NAME(NAME) XYLEM_QUOTED(NAME)

// Empty, or why the driver cannot be used.
std::string loadDriver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("NVIDIA's driver cannot be loaded: ") + dlerror();
  if (dlsym(library, "pncclGetVersion") != nullptr)
    return "libcuda.so.1 is Xylem's own one for host devices; take its folder off LD_LIBRARY_PATH";
#define XYLEM_ROW(NAME)                                                                \
  cuda.NAME = reinterpret_cast<decltype(cuda.NAME)>(dlsym(library, XYLEM_NAME(NAME))); \
  if (cuda.NAME == nullptr) return "NVIDIA's driver is too old: it has no " XYLEM_NAME(NAME);
  XYLEM_CUDA_FUNCTIONS(XYLEM_ROW)
#undef XYLEM_ROW
  captureInfo = reinterpret_cast<CaptureInfo>(dlsym(library, kCaptureInfo));
  if (captureInfo == nullptr) return std::string("NVIDIA's driver is too old: it has no ") + kCaptureInfo;
  const CUresult status = cuda.cuInit(0);
  if (status == CUDA_SUCCESS) return "";
  const char* text = "";
  cuda.cuGetErrorString(status, &text);
  return std::string("cuInit failed: ") + text;
}

struct Device {
  CUcontext context = nullptr;  // the primary one, which programs of CUDA's runtime use
  unsigned long long id = 0;    // of the context, as a later one may have the same handle; 0: unknown
  CUfunction kernel = nullptr;
};
struct Devices {
  std::mutex mutex;
  std::map<int, Device> all;
};
Devices& devices() {
  static Devices* const known = new Devices;  // used until the process ends
  return *known;
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
CUstream streamOf(void* stream) { return static_cast<CUstream>(stream); }
CUevent eventOf(void* event) { return static_cast<CUevent>(event); }

// While a stream is captured, the driver forbids threads to ask events, to take memory and to load code, unless they relax the capture. A call
// that it forbids would spoil the program's capture. This relaxes it until it is destroyed, or until the owner of keep()'s mode restores that.
class RelaxedCapture {
 public:
  RelaxedCapture()
      : status_(cuda.cuThreadExchangeStreamCaptureMode(&before_)), isRelaxed_(status_ == kDone) {}
  ~RelaxedCapture() {
    if (isRelaxed_) cuda.cuThreadExchangeStreamCaptureMode(&before_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  Status status() const { return status_; }
  // The mode that the caller has to restore.
  CUstreamCaptureMode keep() {
    isRelaxed_ = false;
    return before_;
  }

 private:
  CUstreamCaptureMode before_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  Status status_;
  bool isRelaxed_;
};

// Callers have relaxed the capture and have the lock of devices().
Status openContext(int number, Device& found) {
  if (found.context != nullptr) return kDone;
  CUdevice handle = 0;
  if (const Status status = cuda.cuDeviceGet(&handle, number)) return status;
  CUcontext context = nullptr;
  if (const Status status = cuda.cuDevicePrimaryCtxRetain(&context, handle)) return status;
  if (const Status status = cuda.cuCtxGetId(context, &found.id)) {
    cuda.cuDevicePrimaryCtxRelease(handle);
    return status;
  }
  found.context = context;
  return kDone;
}
Status loadKernel(Device& found) {
  if (found.kernel != nullptr) return kDone;
  CUmodule module = nullptr;
  if (const Status status = cuda.cuCtxPushCurrent(found.context)) return status;
  Status status = cuda.cuModuleLoadData(&module, kernelImage);
  if (status == kDone) status = cuda.cuModuleGetFunction(&found.kernel, module, "xylemRunLanes");
  CUcontext popped = nullptr;
  cuda.cuCtxPopCurrent(&popped);
  return status;
}

// The device with its context; the kernel is loaded when it is first asked for. The thread has relaxed the capture.
Status open(int number, Device& device) {
  Devices& known = devices();
  const std::lock_guard lock(known.mutex);
  Device& found = known.all[number];
  if (const Status status = openContext(number, found)) return status;
  if (const Status status = loadKernel(found)) return status;
  device = found;
  return kDone;
}

// The program may have reset the device since it was opened (cudaDeviceReset). The primary context is not active then, or it is another one, and the
// kernel has gone with the former. The driver takes some calls to say so, so enter() does not ask.
Status openDevice(int number) {
  const RelaxedCapture relaxed;
  if (relaxed.status() != kDone) return relaxed.status();
  Devices& known = devices();
  const std::lock_guard lock(known.mutex);
  Device& found = known.all[number];
  CUdevice handle = 0;
  unsigned flags = 0;
  int isActive = 0;
  Device now;
  if (const Status status = cuda.cuDeviceGet(&handle, number)) return status;
  if (const Status status = cuda.cuDevicePrimaryCtxGetState(handle, &flags, &isActive)) return status;
  if (const Status status = openContext(number, now)) return status;
  if (isActive != 0 && now.context == found.context && now.id == found.id)
    return cuda.cuDevicePrimaryCtxRelease(handle);  // one of the two retains: the context stays
  found = now;
  return kDone;
}
Status loadKernelOf(int number) {
  const RelaxedCapture relaxed;
  if (relaxed.status() != kDone) return relaxed.status();
  Device device;
  return open(number, device);
}

const char* describe(Status status) {
  const char* text = nullptr;
  cuda.cuGetErrorString(static_cast<CUresult>(status), &text);
  return text == nullptr ? "unknown error" : text;
}

// As CUDA's runtime has it: a thread without a context has device 0.
Status currentDevice(int* device) {
  CUcontext context = nullptr;
  *device = 0;
  if (const Status status = cuda.cuCtxGetCurrent(&context)) return status;
  return context == nullptr ? kDone : cuda.cuCtxGetDevice(device);
}

// A plain array: it can be used while the thread or the process ends.
struct Entered {
  Device device;
  CUstreamCaptureMode before = CU_STREAM_CAPTURE_MODE_RELAXED;
};
constexpr int kMostEntered = 16;
thread_local Entered entered[kMostEntered];
thread_local int enteredDevices = 0;

Status enter(int number) {
  if (enteredDevices == kMostEntered) return CUDA_ERROR_NOT_SUPPORTED;
  RelaxedCapture relaxed;
  if (relaxed.status() != kDone) return relaxed.status();
  Device device;
  if (const Status status = open(number, device)) return status;
  if (const Status status = cuda.cuCtxPushCurrent(device.context)) return status;
  entered[enteredDevices++] = {device, relaxed.keep()};
  return kDone;
}
Status leave() {
  CUcontext popped = nullptr;
  const Status status = cuda.cuCtxPopCurrent(&popped);
  if (enteredDevices > 0) cuda.cuThreadExchangeStreamCaptureMode(&entered[--enteredDevices].before);
  return status;
}

Status facts(int number, DeviceFacts* facts) {
  *facts = {};
  const RelaxedCapture relaxed;
  if (relaxed.status() != kDone) return relaxed.status();
  Device device;
  CUdevice handle = 0;
  if (const Status status = open(number, device)) return status;
  if (const Status status = cuda.cuDeviceGet(&handle, number)) return status;
  if (const Status status = cuda.cuDeviceGetName(facts->name, sizeof facts->name, handle)) return status;
  if (const Status status = cuda.cuDeviceGetPCIBusId(facts->busId, sizeof facts->busId, handle))
    return status;
  CUuuid uuid{};
  if (const Status status = cuda.cuDeviceGetUuid(&uuid, handle)) return status;
  std::uint64_t halves[2];
  static_assert(sizeof uuid == sizeof halves);
  std::memcpy(halves, &uuid, sizeof halves);
  facts->identity = (halves[0] ^ halves[1]) == 0 ? 1 : halves[0] ^ halves[1];
  std::size_t bytes = 0;
  if (const Status status = cuda.cuDeviceTotalMem(&bytes, handle)) return status;
  facts->memoryBytes = bytes;
  int processors = 0, unified = 0;
  const auto attribute = [&](int* value, CUdevice_attribute which) {
    return cuda.cuDeviceGetAttribute(value, which, handle);
  };
  if (const Status status = attribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) return status;
  if (const Status status = attribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)) return status;
  if (const Status status =
          attribute(&facts->sharesHostAddresses, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM))
    return status;
  if (unified == 0) facts->sharesHostAddresses = 0;
  if (const Status status = attribute(&facts->readsAnyHostMemory, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS))
    return status;
  if (const Status status = attribute(&facts->exportsDmaBuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED))
    return status;
  // Network cards may have to register such memory.
  int mapped = 0, files = 0, cards = 0;
  if (const Status status = attribute(&mapped, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED))
    return status;
  if (const Status status =
          attribute(&files, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
    return status;
  if (const Status status = attribute(&cards, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED))
    return status;
  facts->givesFiles = mapped != 0 && files != 0 && cards != 0 ? 1 : 0;
  if (const Status status = enter(number)) return status;
  int perProcessor = 0;
  const Status status =
      cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&perProcessor, device.kernel, kBlockThreads, 0);
  leave();
  facts->residentBlocks = processors * perProcessor;
  return status;
}

Status allocate(void** memory, std::size_t bytes) {
  CUdeviceptr made = 0;
  const Status status = cuda.cuMemAlloc(&made, bytes);
  *memory = reinterpret_cast<void*>(made);
  return status;
}
Status allocateHost(void** memory, std::size_t bytes) {
  const Status status =
      cuda.cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (status == kDone) std::memset(*memory, 0, bytes);
  return status;
}

// The usual stream would wait for other kernels.
template <typename Enqueue>
Status inOwnStream(Enqueue&& enqueue) {
  CUstream stream = nullptr;
  if (const Status status = cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) return status;
  Status status = enqueue(stream);
  if (status == kDone) status = cuda.cuStreamSynchronize(stream);
  cuda.cuStreamDestroy(stream);
  return status;
}

Status clear(void* memory, std::size_t bytes) {
  return inOwnStream(
      [&](CUstream stream) -> Status { return cuda.cuMemsetD8Async(address(memory), 0, bytes, stream); });
}

Status awaitCount(void* stream, const std::uint32_t* counter, std::uint32_t count) {
  return cuda.cuStreamWaitValue32(streamOf(stream), address(counter), count, CU_STREAM_WAIT_VALUE_GEQ);
}

Status reachPeer(int number) {
  int own = 0, can = 0;
  if (const Status status = cuda.cuCtxGetDevice(&own)) return status;
  if (own == number) return kDone;
  CUdevice from = 0, to = 0;
  if (const Status status = cuda.cuDeviceGet(&from, own)) return status;
  if (const Status status = cuda.cuDeviceGet(&to, number)) return status;
  if (const Status status = cuda.cuDeviceCanAccessPeer(&can, from, to)) return status;
  if (can == 0) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  Device peer;
  if (const Status status = open(number, peer)) return status;
  const Status status = cuda.cuCtxEnablePeerAccess(peer.context, 0);
  return status == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? kDone : status;
}

// The driver may have cut the memory out of a larger allocation: handles are of those.
CUdeviceptr allocationOf(const void* memory) {
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  return cuda.cuMemGetAddressRange(&base, &bytes, address(memory)) == CUDA_SUCCESS ? base : address(memory);
}
static_assert(sizeof(CUipcMemHandle) == sizeof(IpcHandle::bytes));
Status exportMemory(void* memory, IpcHandle* handle) {
  CUipcMemHandle made{};
  const CUdeviceptr base = allocationOf(memory);
  const Status status = cuda.cuIpcGetMemHandle(&made, base);
  std::memcpy(handle->bytes, &made, sizeof made);
  handle->offset = address(memory) - base;
  return status;
}
Status importMemory(const IpcHandle* handle, void** memory) {
  CUipcMemHandle made{};
  std::memcpy(&made, handle->bytes, sizeof made);
  CUdeviceptr opened = 0;
  const Status status = cuda.cuIpcOpenMemHandle(&opened, made, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  *memory = reinterpret_cast<void*>(opened + handle->offset);
  return status;
}

// Memory of the cuMem functions that this process has mapped: its own, and that of others.
struct Mapping {
  CUmemGenericAllocationHandle allocation;
  std::size_t bytes;
};
struct Mappings {
  std::mutex mutex;
  std::map<CUdeviceptr, Mapping> all;
};
Mappings& mappings() {
  static Mappings* const known = new Mappings;  // as devices()
  return *known;
}

CUmemLocation placeOf(int device) {
  CUmemLocation place{};
  place.type = CU_MEM_LOCATION_TYPE_DEVICE;
  place.id = device;
  return place;
}

// The device, and those that reach its memory.
Status reachedFrom(int device, std::vector<CUmemAccessDesc>& accesses) {
  int count = 0;
  CUdevice owner = 0;
  if (const Status status = cuda.cuDeviceGetCount(&count)) return status;
  if (const Status status = cuda.cuDeviceGet(&owner, device)) return status;
  for (int number = 0; number < count; ++number) {
    CUdevice other = 0;
    int can = number == device ? 1 : 0;
    if (const Status status = cuda.cuDeviceGet(&other, number)) return status;
    if (can == 0)
      if (const Status status = cuda.cuDeviceCanAccessPeer(&can, other, owner)) return status;
    if (can != 0) accesses.push_back({placeOf(number), CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  }
  return kDone;
}

// Gives the allocation an address, and takes it over; also after an error.
Status mapAllocation(const Mapping& mapping, const std::vector<CUmemAccessDesc>& accesses, void** memory) {
  CUdeviceptr begin = 0;
  Status status = cuda.cuMemAddressReserve(&begin, mapping.bytes, 0, 0, 0);
  if (status == kDone) {
    status = cuda.cuMemMap(begin, mapping.bytes, 0, mapping.allocation, 0);
    if (status == kDone) {
      status = cuda.cuMemSetAccess(begin, mapping.bytes, accesses.data(), accesses.size());
      if (status != kDone) cuda.cuMemUnmap(begin, mapping.bytes);
    }
    if (status != kDone) cuda.cuMemAddressFree(begin, mapping.bytes);
  }
  if (status != kDone) {
    cuda.cuMemRelease(mapping.allocation);
    return status;
  }
  Mappings& known = mappings();
  const std::lock_guard lock(known.mutex);
  known.all[begin] = mapping;
  *memory = reinterpret_cast<void*>(begin);
  return kDone;
}

Status allocateFile(void** memory, std::size_t* bytes) {
  int device = 0;
  if (const Status status = cuda.cuCtxGetDevice(&device)) return status;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = placeOf(device);
  properties.allocFlags.gpuDirectRDMACapable = 1;
  std::size_t whole = 0;
  if (const Status status =
          cuda.cuMemGetAllocationGranularity(&whole, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
    return status;
  std::vector<CUmemAccessDesc> accesses;
  if (const Status status = reachedFrom(device, accesses)) return status;
  *bytes = (*bytes + whole - 1) / whole * whole;
  Mapping made{0, *bytes};
  if (const Status status = cuda.cuMemCreate(&made.allocation, made.bytes, &properties, 0)) return status;
  return mapAllocation(made, accesses, memory);
}

Status openFile(void* memory, int* descriptor) {
  Mappings& known = mappings();
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(address(memory));
  if (found == known.all.end()) return CUDA_ERROR_INVALID_VALUE;
  return cuda.cuMemExportToShareableHandle(descriptor, found->second.allocation,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

Status mapFile(int descriptor, std::size_t bytes, void** memory) {
  int device = 0;
  if (const Status status = cuda.cuCtxGetDevice(&device)) return status;
  Mapping theirs{0, bytes};
  // The driver has the descriptor itself where it takes the address of a handle from other systems.
  void* const file = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  if (const Status status = cuda.cuMemImportFromShareableHandle(&theirs.allocation, file,
                                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
    return status;
  return mapAllocation(theirs, {{placeOf(device), CU_MEM_ACCESS_FLAGS_PROT_READWRITE}}, memory);
}

Status releaseFile(void* memory) {
  Mappings& known = mappings();
  Mapping mapping{};
  {
    const std::lock_guard lock(known.mutex);
    const auto found = known.all.find(address(memory));
    if (found == known.all.end()) return CUDA_ERROR_INVALID_VALUE;
    mapping = found->second;
    known.all.erase(found);
  }
  Status status = cuda.cuMemUnmap(address(memory), mapping.bytes);
  for (const Status next : {Status{cuda.cuMemRelease(mapping.allocation)},
                            Status{cuda.cuMemAddressFree(address(memory), mapping.bytes)}})
    if (status == kDone) status = next;
  return status;
}

Status exportDmaBuf(void* memory, std::size_t bytes, int* descriptor) {
  return cuda.cuMemGetHandleForAddressRange(descriptor, address(memory), bytes,
                                            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
}

Status lookUp(const void* pointer, Place* place) {
  *place = {PlaceKind::kHost, -1, 0};
  int type = 0, device = -1, managed = 0, legacy = 0;
  // Peers that have enabled access reach memory of cuMemAlloc, but not that of pools, and not mapped allocations.
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
  void* values[] = {&type, &device, &managed, &legacy};
  // Memory that the driver does not know leaves 0 in all of them.
  if (const Status status = cuda.cuPointerGetAttributes(4, which, values, address(pointer))) return status;
  if (managed != 0)
    *place = {PlaceKind::kManaged, device, 0};
  else if (type == CU_MEMORYTYPE_DEVICE)
    *place = {PlaceKind::kDevice, device, legacy};
  else if (type == CU_MEMORYTYPE_HOST)
    *place = {PlaceKind::kRegisteredHost, -1, 0};
  return kDone;
}

Status streamDevice(void* stream, int* device) {
  // The default streams are those of the context that was entered.
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
    return cuda.cuCtxGetDevice(device);
  CUcontext context = nullptr;
  if (const Status status = cuda.cuStreamGetCtx(streamOf(stream), &context)) return status;
  if (const Status status = cuda.cuCtxPushCurrent(context)) return status;
  const Status status = cuda.cuCtxGetDevice(device);
  cuda.cuCtxPopCurrent(&context);
  return status;
}

// The graph that a capture builds, too; null if the stream is not captured.
Status lookAtCapture(void* stream, std::uint64_t* capture, CUgraph* graph) {
  CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  *capture = 0;
  if (const Status status = captureInfo(streamOf(stream), &state, &id, graph, nullptr, nullptr))
    return status;
  if (state == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (state == CU_STREAM_CAPTURE_STATUS_ACTIVE) *capture = id;
  return kDone;
}
Status captureOf(void* stream, std::uint64_t* capture) { return lookAtCapture(stream, capture, nullptr); }

// The graph and its instances hold a user object, whose end calls the function.
Status keepForGraph(void* stream, void (*function)(void*), void* data) {
  std::uint64_t capture = 0;
  CUgraph graph = nullptr;
  CUuserObject object = nullptr;
  Status made = lookAtCapture(stream, &capture, &graph);
  if (made == kDone && capture == 0) made = CUDA_ERROR_ILLEGAL_STATE;
  if (made == kDone)
    made = cuda.cuUserObjectCreate(&object, data, function, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (made != kDone) {
    function(data);
    return made;
  }
  const Status status = cuda.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (status != kDone) cuda.cuUserObjectRelease(object, 1);
  return status;
}

Status launch(const LaunchTable& table, void* stream) {
  if (enteredDevices == 0) return CUDA_ERROR_INVALID_CONTEXT;
  static const InlineTable none{};
  const std::byte* begin = table.inlined == nullptr ? table.begin : nullptr;
  auto recordBytes = static_cast<unsigned>(table.recordBytes);
  void* arguments[] = {&begin, &recordBytes,
                       const_cast<InlineTable*>(table.inlined == nullptr ? &none : table.inlined)};
  return cuda.cuLaunchKernel(entered[enteredDevices - 1].device.kernel, static_cast<unsigned>(table.lanes), 1,
                             1, kBlockThreads, 1, 1, 0, streamOf(stream), arguments, nullptr);
}

DriverTable makeTable() {
  DriverTable table{};
  table.abi = kDriverAbi;
  cuda.cuDriverGetVersion(&table.driverVersion);
  // The headers are of the toolkit that has compiled the image. A driver loads what any CUDA of its own major version or of an older one has compiled.
  table.builtVersion = CUDA_VERSION;
  table.oldestVersion = CUDA_VERSION / 1000 * 1000;
  table.notReady = CUDA_ERROR_NOT_READY;
  table.outOfMemory = CUDA_ERROR_OUT_OF_MEMORY;
  table.describe = describe;
  table.countDevices = [](int* count) -> Status { return cuda.cuDeviceGetCount(count); };
  table.currentDevice = currentDevice;
  table.openDevice = openDevice;
  table.loadKernel = loadKernelOf;
  table.facts = facts;
  table.enter = enter;
  table.leave = leave;
  table.allocate = allocate;
  table.release = [](void* memory) -> Status { return cuda.cuMemFree(address(memory)); };
  table.allocateHost = allocateHost;
  table.releaseHost = [](void* memory) -> Status { return cuda.cuMemFreeHost(memory); };
  table.registerHost = [](void* memory, std::size_t bytes) -> Status {
    return cuda.cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  };
  table.unregisterHost = [](void* memory) -> Status { return cuda.cuMemHostUnregister(memory); };
  table.clear = clear;
  table.reachPeer = reachPeer;
  table.exportMemory = exportMemory;
  table.importMemory = importMemory;
  table.closeMemory = [](void* allocation) -> Status {
    return cuda.cuIpcCloseMemHandle(address(allocation));
  };
  table.allocateFile = allocateFile;
  table.openFile = openFile;
  table.mapFile = mapFile;
  table.releaseFile = releaseFile;
  table.exportDmaBuf = exportDmaBuf;
  table.lookUp = lookUp;
  table.copy = [](void* to, const void* from, std::size_t bytes, void* stream) -> Status {
    return cuda.cuMemcpyAsync(address(to), address(from), bytes, streamOf(stream));
  };
  table.streamDevice = streamDevice;
  table.streamNumber = [](void* stream, std::uint64_t* number) -> Status {
    unsigned long long id = 0;
    const Status status = cuda.cuStreamGetId(streamOf(stream), &id);
    *number = id;
    return status;
  };
  table.captureOf = captureOf;
  table.keepForGraph = keepForGraph;
  table.synchronize = []() -> Status { return cuda.cuCtxSynchronize(); };
  table.makeEvent = [](void** event) -> Status {
    return cuda.cuEventCreate(reinterpret_cast<CUevent*>(event), CU_EVENT_DISABLE_TIMING);
  };
  table.destroyEvent = [](void* event) -> Status { return cuda.cuEventDestroy(eventOf(event)); };
  table.recordEvent = [](void* event, void* stream) -> Status {
    return cuda.cuEventRecord(eventOf(event), streamOf(stream));
  };
  table.awaitEvent = [](void* stream, void* event) -> Status {
    return cuda.cuStreamWaitEvent(streamOf(stream), eventOf(event), 0);
  };
  table.queryEvent = [](void* event) -> Status { return cuda.cuEventQuery(eventOf(event)); };
  table.awaitCount = awaitCount;
  table.awaitCountHere = [](const std::uint32_t* counter, std::uint32_t count) -> Status {
    return inOwnStream([&](CUstream stream) { return awaitCount(stream, counter, count); });
  };
  table.callHost = [](void* stream, void (*function)(void*), void* data) -> Status {
    return cuda.cuLaunchHostFunc(streamOf(stream), function, data);
  };
  table.launch = launch;
  return table;
}

}  // namespace
}  // namespace xylem::gpu

// Null, with the reason, if NVIDIA's driver cannot be used.
extern "C" __attribute__((visibility("default"))) const xylem::gpu::DriverTable* xylemCudaDriver(
    const char** reason) {
  static const std::string failure = xylem::gpu::loadDriver();
  *reason = failure.c_str();
  if (!failure.empty()) return nullptr;
  static const xylem::gpu::DriverTable table = xylem::gpu::makeTable();
  return &table;
}
