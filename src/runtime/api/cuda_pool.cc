// host/cuda_runtime_api.h: memory pools, and allocating in the order of a stream.

#include <fcntl.h>

#include <cstring>
#include <map>
#include <optional>

#include "runtime/api/boundary.h"
#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/allocation_table.h"
#include "runtime/cuda_api/memory_pool.h"

using namespace xylem;
using namespace xylem::api;

struct CUmemPoolHandle_st {
  CUmemPoolHandle_st(int device, std::uint64_t most, std::uint64_t number = 0, bool isTheirs = false)
      : pool(std::make_shared<cuda_api::MemoryPool>(device, most, number)), imported(isTheirs) {}
  ~CUmemPoolHandle_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d706f6cull;  // "xylempol"
  volatile std::uint64_t magic = kMagic;  // else the store before it is freed may be left out
  std::shared_ptr<cuda_api::MemoryPool> pool;
  const bool imported;  // another process's pool, from which this one does not allocate
  // The program's own settings by attribute, which make no difference: three that allow reuse, and a threshold.
  std::mutex mutex;
  std::map<int, std::uint64_t> settings{{cudaMemPoolReuseFollowEventDependencies, 1},
                                        {cudaMemPoolReuseAllowOpportunistic, 1},
                                        {cudaMemPoolReuseAllowInternalDependencies, 1},
                                        {cudaMemPoolAttrReleaseThreshold, 0}};
};

namespace {

// The pools of one device.
struct DevicePools {
  std::unique_ptr<CUmemPoolHandle_st> first;
  cudaMemPool_t current = nullptr;
};

struct AllPools {
  std::mutex mutex;
  std::map<int, DevicePools> devices;
};
// Never destroyed: programs may allocate while the process ends.
AllPools& allPools() {
  static AllPools& pools = *std::make_unique<AllPools>().release();
  return pools;
}

// The pools of a device. The caller holds the lock.
DevicePools& poolsOf(int device) {
  DevicePools& pools = allPools().devices[device];
  if (pools.first == nullptr) {
    pools.first = std::make_unique<CUmemPoolHandle_st>(device, 0);
    pools.current = pools.first.get();
  }
  return pools;
}

CUmemPoolHandle_st& requirePool(cudaMemPool_t handle) {
  if (handle == nullptr || handle->magic != CUmemPoolHandle_st::kMagic)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  return *handle;
}

[[noreturn]] void refuse(const char* why, cudaError_t error = cudaErrorNotSupported) {
  remember(ResultCode::kInvalidUsage, why);
  throw cuda_api::CudaFailure(error);
}

CUmemPoolHandle_st& requireOwnPool(cudaMemPool_t handle, const char* function) {
  CUmemPoolHandle_st& pool = requirePool(handle);
  if (pool.imported)
    refuse((std::string(function) + ": the pool is another process's, from which only that process allocates")
               .c_str(),
           cudaErrorInvalidValue);
  return pool;
}

void requireFile(cudaMemAllocationHandleType type, unsigned flags, const char* function) {
  if (flags != 0) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  if (rawValue(type) != cudaMemHandleTypePosixFileDescriptor)
    refuse((std::string(function) + ": host devices' pools are shared by file descriptors alone").c_str());
}

// A value as the program has it: an int for what is allowed, 64 bits for bytes.
bool isInt(int attribute) { return attribute < cudaMemPoolAttrReleaseThreshold; }
std::uint64_t valueAt(const void* place, int attribute) {
  if (isInt(attribute)) return static_cast<std::uint64_t>(*static_cast<const int*>(place));
  return *static_cast<const std::uint64_t*>(place);
}
void putValue(void* place, int attribute, std::uint64_t value) {
  if (isInt(attribute))
    *static_cast<int*>(place) = static_cast<int>(value);
  else
    *static_cast<std::uint64_t*>(place) = value;
}
std::optional<cuda_api::MemoryPool::High> highOf(int attribute) {
  if (attribute == cudaMemPoolAttrReservedMemHigh) return cuda_api::MemoryPool::kReserved;
  if (attribute == cudaMemPoolAttrUsedMemHigh) return cuda_api::MemoryPool::kUsed;
  return std::nullopt;
}

static_assert(sizeof(cuda_api::PooledName) <= sizeof(cudaMemPoolPtrExportData));

// Memory of a graph, freed with the graph unless the program has freed it.
class GraphMemory {
 public:
  explicit GraphMemory(const cuda_api::Allocation& memory) : start_(memory.start), number_(memory.number) {}
  ~GraphMemory() {
    cuda_api::AllocationTable::instance().free(start_, cuda_api::AllocationTable::kOfDevice, number_);
  }
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

 private:
  std::byte* const start_;
  const std::uint64_t number_;
};

// Throws CudaFailure if there is not enough memory, or the pool gives no more.
void* allocateFrom(cuda_api::MemoryPool& pool, size_t size) {
  if (size == 0) return nullptr;
  std::shared_ptr<void> charge = pool.charge(size);
  if (charge == nullptr) throw cuda_api::CudaFailure(cudaErrorMemoryAllocation);
  try {
    return cuda_api::AllocationTable::instance().allocate({.type = cudaMemoryTypeDevice,
                                                           .device = pool.device(),
                                                           .charge = std::move(charge),
                                                           .sharedPool = pool.number()},
                                                          size);
  } catch (const Error&) {
    throw cuda_api::CudaFailure(cudaErrorMemoryAllocation);
  }
}

void* allocateIn(cuda_api::CudaStream& stream, cuda_api::MemoryPool& pool, size_t size) {
  void* const memory = allocateFrom(pool, size);
  if (stream.captured() && memory != nullptr) {
    // All launches of the graph use the same memory.
    auto owner = std::make_shared<GraphMemory>(*cuda_api::AllocationTable::instance().startingAt(memory));
    cuda_api::Capture::add(stream, cudaGraphNodeTypeMemAlloc, nullptr, std::move(owner));
  }
  return memory;
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return guardedCuda([&] {
    requireResult(pool);
    requireDevice(device);
    const std::lock_guard lock(allPools().mutex);
    *pool = poolsOf(device).first.get();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return guardedCuda([&] {
    requireResult(pool);
    requireDevice(device);
    const std::lock_guard lock(allPools().mutex);
    *pool = poolsOf(device).current;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return guardedCuda([&] {
    requireDevice(device);
    if (requireOwnPool(pool, "cudaDeviceSetMemPool").pool->device() != device) return cudaErrorInvalidValue;
    const std::lock_guard lock(allPools().mutex);
    poolsOf(device).current = pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return guardedCuda([&] {
    requireResult(pool);
    *pool = nullptr;
    requireResult(properties);
    if (rawValue(properties->allocType) != cudaMemAllocationTypePinned) return cudaErrorInvalidValue;
    const int handles = rawValue(properties->handleTypes);
    if (handles != cudaMemHandleTypeNone && handles != cudaMemHandleTypePosixFileDescriptor)
      refuse("cudaMemPoolCreate: host devices' pools are shared by file descriptors alone");
    if (rawValue(properties->location.type) != cudaMemLocationTypeDevice)
      refuse("cudaMemPoolCreate: host devices' pools belong to a device");
    requireDevice(properties->location.id);
    const std::uint64_t number = handles == cudaMemHandleTypeNone ? 0 : cuda_api::newPoolNumber();
    *pool =
        std::make_unique<CUmemPoolHandle_st>(properties->location.id, properties->maxSize, number).release();
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return guardedCuda([&] {
    const int device = requirePool(handle).pool->device();
    const std::lock_guard lock(allPools().mutex);
    DevicePools& pools = poolsOf(device);
    if (handle == pools.first.get()) return cudaErrorInvalidValue;
    if (handle == pools.current) pools.current = pools.first.get();
    const std::unique_ptr<CUmemPoolHandle_st> owner(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return guardedCuda([&] {
    requirePool(pool);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return guardedCuda([&] {
    CUmemPoolHandle_st& pool = requirePool(handle);
    requireResult(value);
    const std::lock_guard lock(pool.mutex);
    const int which = rawValue(attribute);
    if (const auto setting = pool.settings.find(which); setting != pool.settings.end()) {
      setting->second = valueAt(value, which);
      return cudaSuccess;
    }
    const std::optional<cuda_api::MemoryPool::High> high = highOf(which);
    if (!high || valueAt(value, which) != 0) return cudaErrorInvalidValue;
    pool.pool->resetHigh(*high);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return guardedCuda([&] {
    CUmemPoolHandle_st& pool = requirePool(handle);
    requireResult(value);
    const std::lock_guard lock(pool.mutex);
    const int which = rawValue(attribute);
    if (const auto setting = pool.settings.find(which); setting != pool.settings.end())
      putValue(value, which, setting->second);
    else if (const std::optional<cuda_api::MemoryPool::High> high = highOf(which))
      putValue(value, which, pool.pool->high(*high));
    else if (which == cudaMemPoolAttrReservedMemCurrent || which == cudaMemPoolAttrUsedMemCurrent)
      putValue(value, which, pool.pool->used());
    else
      return cudaErrorInvalidValue;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* list, size_t count) {
  return guardedCuda([&] {
    const int own = requirePool(handle).pool->device();
    if (count > 0) requireResult(list);
    for (size_t i = 0; i < count; ++i) {
      if (rawValue(list[i].location.type) != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
      requireDevice(list[i].location.id);
      const int flags = rawValue(list[i].flags);
      const bool takesOwn = list[i].location.id == own && flags != cudaMemAccessFlagsProtReadWrite;
      if (takesOwn || (flags != cudaMemAccessFlagsProtNone && flags != cudaMemAccessFlagsProtRead &&
                       flags != cudaMemAccessFlagsProtReadWrite))
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return guardedCuda([&] {
    requireResult(flags);
    requireResult(location);
    requirePool(pool);
    if (rawValue(location->type) != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    requireDevice(location->id);
    *flags = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t handle) {
  return guardedCuda([&] {
    requireResult(pointer);
    *pointer = nullptr;
    *pointer = allocateIn(requireStream(handle), *requireOwnPool(pool, "cudaMallocFromPoolAsync").pool, size);
    return cudaSuccess;
  });
}

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t handle) {
  return guardedCuda([&] {
    requireResult(pointer);
    *pointer = nullptr;
    cuda_api::CudaStream& stream = requireStream(handle);
    std::shared_ptr<cuda_api::MemoryPool> pool;
    {
      const std::lock_guard lock(allPools().mutex);
      pool = poolsOf(stream.device()).current->pool;
    }
    *pointer = allocateIn(stream, *pool, size);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    if (pointer == nullptr) return cudaSuccess;
    const std::optional<cuda_api::Allocation> memory =
        cuda_api::AllocationTable::instance().startingAt(pointer);
    if (!memory || !cuda_api::AllocationTable::is(*memory, cuda_api::AllocationTable::kOfDevice))
      return cudaErrorInvalidValue;
    if (stream.captured()) {
      // The next launch uses the memory again.
      cuda_api::Capture::add(stream, cudaGraphNodeTypeMemFree, nullptr);
      return cudaSuccess;
    }
    enqueueOn(stream, cudaGraphNodeTypeMemFree, [pointer, number = memory->number] {
      cuda_api::AllocationTable::instance().free(pointer, cuda_api::AllocationTable::kOfDevice, number);
    });
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolExportToShareableHandle(void* shareable, cudaMemPool_t handle,
                                               cudaMemAllocationHandleType type, unsigned flags) {
  return guardedCuda([&] {
    requireResult(shareable);
    requireFile(type, flags, "cudaMemPoolExportToShareableHandle");
    const cuda_api::MemoryPool& pool = *requireOwnPool(handle, "cudaMemPoolExportToShareableHandle").pool;
    if (pool.number() == 0)
      refuse(
          "cudaMemPoolExportToShareableHandle: the pool was made without "
          "cudaMemHandleTypePosixFileDescriptor",
          cudaErrorInvalidValue);
    const FileDescriptor described =
        cuda_api::writePoolHandle({.number = pool.number(), .device = pool.device()});
    const int file = fcntl(described.get(), F_DUPFD_CLOEXEC, 0);
    if (file < 0) return cudaErrorOperatingSystem;
    *static_cast<int*>(shareable) = file;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* shareable,
                                                 cudaMemAllocationHandleType type, unsigned flags) {
  return guardedCuda([&] {
    requireResult(pool);
    *pool = nullptr;
    requireFile(type, flags, "cudaMemPoolImportFromShareableHandle");
    const cuda_api::PoolHandle told =
        cuda_api::readPoolHandle(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)));
    requireDevice(told.device);
    *pool = std::make_unique<CUmemPoolHandle_st>(told.device, 0, told.number, true).release();
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* exported, void* pointer) {
  return guardedCuda([&] {
    requireResult(exported);
    const auto memory = cuda_api::AllocationTable::instance().startingAt(pointer);
    if (!memory || memory->sharedPool == 0)
      refuse("cudaMemPoolExportPointer: no memory of a pool that processes share starts there",
             cudaErrorInvalidValue);
    const cuda_api::PooledName name{
        .memory = cuda_api::nameForIpc(memory->start, memory->bytes, cuda_api::IpcKind::kPooled),
        .pool = memory->sharedPool};
    *exported = {};
    std::memcpy(exported->reserved, &name, sizeof name);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t handle,
                                     cudaMemPoolPtrExportData* exported) {
  return guardedCuda([&] {
    requireResult(pointer);
    *pointer = nullptr;
    requireResult(exported);
    CUmemPoolHandle_st& pool = requirePool(handle);
    cuda_api::PooledName name;
    std::memcpy(&name, exported->reserved, sizeof name);
    if (!pool.imported || name.pool != pool.pool->number())
      refuse("cudaMemPoolImportPointer: the memory is not of this pool, or the pool is this process's own",
             cudaErrorInvalidValue);
    std::shared_ptr<std::byte> mapping = cuda_api::mapIpc(name.memory, cuda_api::IpcKind::kPooled);
    std::byte* const start = mapping.get();
    cuda_api::AllocationTable::instance().add({.type = cudaMemoryTypeDevice,
                                               .device = pool.pool->device(),
                                               .start = start,
                                               .bytes = name.memory.bytes,
                                               .charge = pool.pool->charge(name.memory.bytes),
                                               .mapping = std::move(mapping)});
    *pointer = start;
    return cudaSuccess;
  });
}
