// host/cuda_runtime_api.h: memory pools, and allocating in the order of a stream.

#include <array>
#include <map>

#include "runtime/api/boundary.h"
#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/allocation_table.h"
#include "runtime/cuda_api/memory_pool.h"

using namespace xylem;
using namespace xylem::api;

struct CUmemPoolHandle_st {
  CUmemPoolHandle_st(int device, std::uint64_t most)
      : pool(std::make_shared<cuda_api::MemoryPool>(device, most)) {}
  ~CUmemPoolHandle_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d706f6cull;  // "xylempol"
  std::uint64_t magic = kMagic;
  std::shared_ptr<cuda_api::MemoryPool> pool;
  // The program's own settings, which make no difference.
  std::mutex mutex;
  std::array<int, 3> reuse{1, 1, 1};
  std::uint64_t threshold = 0;
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

[[noreturn]] void refuse(const char* why) {
  remember(ResultCode::kInvalidUsage, why);
  throw cuda_api::CudaFailure(cudaErrorNotSupported);
}

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
    return cuda_api::AllocationTable::instance().allocate(
        {.type = cudaMemoryTypeDevice, .device = pool.device(), .charge = std::move(charge)}, size);
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
    if (requirePool(pool).pool->device() != device) return cudaErrorInvalidValue;
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
    if (rawValue(properties->handleTypes) != cudaMemHandleTypeNone)
      refuse(
          "cudaMemPoolCreate: host devices' pools are of one process; cudaIpcGetMemHandle shares "
          "cudaMalloc's memory");
    if (rawValue(properties->location.type) != cudaMemLocationTypeDevice)
      refuse("cudaMemPoolCreate: host devices' pools belong to a device");
    requireDevice(properties->location.id);
    *pool = std::make_unique<CUmemPoolHandle_st>(properties->location.id, properties->maxSize).release();
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
    switch (rawValue(attribute)) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
        pool.reuse[static_cast<std::size_t>(rawValue(attribute)) - 1] = *static_cast<const int*>(value);
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        pool.threshold = *static_cast<const std::uint64_t*>(value);
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        if (*static_cast<const std::uint64_t*>(value) != 0) return cudaErrorInvalidValue;
        pool.pool->resetHigh();
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return guardedCuda([&] {
    CUmemPoolHandle_st& pool = requirePool(handle);
    requireResult(value);
    const std::lock_guard lock(pool.mutex);
    switch (rawValue(attribute)) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
        *static_cast<int*>(value) = pool.reuse[static_cast<std::size_t>(rawValue(attribute)) - 1];
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        *static_cast<std::uint64_t*>(value) = pool.threshold;
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrUsedMemCurrent:
        *static_cast<std::uint64_t*>(value) = pool.pool->used();
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        *static_cast<std::uint64_t*>(value) = pool.pool->high();
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
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
    *pointer = allocateIn(requireStream(handle), *requirePool(pool).pool, size);
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
