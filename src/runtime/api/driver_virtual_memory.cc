// host/cuda.h: memory without an address, and addresses without memory. A handle is an anonymous file, which cuMemMap
// maps at reserved addresses. The file stays while a handle or a mapping of any process has it.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "core/file_descriptor.h"
#include "core/resize_file.h"
#include "runtime/api/driver_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/allocation_table.h"

using namespace xylem;
using namespace xylem::api;

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

struct PhysicalMemory {
  FileDescriptor file;
  std::size_t bytes = 0;
  CUmemAllocationProp properties{};
};
using SharedMemory = std::shared_ptr<const PhysicalMemory>;

struct Mapping {
  std::size_t bytes = 0;
  SharedMemory memory;
  unsigned access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
};

// The process's handles, reserved addresses and what is mapped there.
struct VirtualMemory {
  std::mutex mutex;
  CUmemGenericAllocationHandle last = 0;
  std::map<CUmemGenericAllocationHandle, SharedMemory> handles;
  std::map<CUdeviceptr, std::size_t> reserved;
  std::map<CUdeviceptr, Mapping> mapped;

  CUmemGenericAllocationHandle add(SharedMemory memory) {
    handles[++last] = std::move(memory);
    return last;
  }
  // Throws CudaFailure if there is no such handle.
  const SharedMemory& at(CUmemGenericAllocationHandle handle) const {
    const auto found = handles.find(handle);
    if (found == handles.end()) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
    return found->second;
  }
  bool isReserved(CUdeviceptr address, std::size_t bytes) const {
    const auto after = reserved.upper_bound(address);
    if (after == reserved.begin()) return false;
    const auto& [start, length] = *std::prev(after);
    return bytes <= length && address - start <= length - bytes;
  }
  bool overlaps(CUdeviceptr address, std::size_t bytes) const {
    const auto next = mapped.lower_bound(address);
    if (next != mapped.end() && next->first - address < bytes) return true;
    return next != mapped.begin() && address - std::prev(next)->first < std::prev(next)->second.bytes;
  }
  std::map<CUdeviceptr, Mapping>::iterator mappingAt(CUdeviceptr address) {
    const auto after = mapped.upper_bound(address);
    if (after == mapped.begin()) return mapped.end();
    const auto found = std::prev(after);
    return address - found->first < found->second.bytes ? found : mapped.end();
  }
};
VirtualMemory& virtualMemory() {
  static VirtualMemory& all = *std::make_unique<VirtualMemory>().release();
  return all;
}

bool isWhole(std::size_t bytes) { return bytes > 0 && bytes % kGranularity == 0; }

void require(const CUmemAllocationProp* properties) {
  requireResult(properties);
  const int place = rawValue(properties->location.type);
  const int handles = rawValue(properties->requestedHandleTypes);
  if (rawValue(properties->type) != CU_MEM_ALLOCATION_TYPE_PINNED)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  if (place == CU_MEM_LOCATION_TYPE_DEVICE)
    requireDevice(properties->location.id);
  else if (place < CU_MEM_LOCATION_TYPE_HOST || place > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  if ((handles & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
    throw cuda_api::CudaFailure(cudaErrorNotSupported);
}

// Puts inaccessible addresses in place of what is mapped there.
bool clearAddresses(void* address, std::size_t bytes, int more) {
  return mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more, -1, 0) !=
         MAP_FAILED;
}

int protectionOf(unsigned access) {
  switch (access) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
      return PROT_NONE;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      return PROT_READ;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return PROT_READ | PROT_WRITE;
  }
  throw cuda_api::CudaFailure(cudaErrorInvalidValue);
}

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  return guardedDriver([&] {
    requireResult(bytes);
    require(properties);
    *bytes = kGranularity;
    return cudaSuccess;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  return guardedDriver([&] {
    requireResult(handle);
    require(properties);
    if (!isWhole(bytes) || flags != 0) return cudaErrorInvalidValue;
    FileDescriptor file(memfd_create("xylem-cuMemCreate", MFD_CLOEXEC));
    if (!file || !resizeFile(file.get(), bytes)) return cudaErrorMemoryAllocation;
    const std::lock_guard lock(virtualMemory().mutex);
    *handle = virtualMemory().add(
        std::make_shared<PhysicalMemory>(PhysicalMemory{std::move(file), bytes, *properties}));
    return cudaSuccess;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return guardedDriver([&] {
    const std::lock_guard lock(virtualMemory().mutex);
    return virtualMemory().handles.erase(handle) == 1 ? cudaSuccess : cudaErrorInvalidValue;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return guardedDriver([&] {
    requireResult(handle);
    VirtualMemory& all = virtualMemory();
    const std::lock_guard lock(all.mutex);
    const auto found = all.mappingAt(pointerOf(address));
    if (found == all.mapped.end()) return cudaErrorInvalidValue;
    *handle = all.add(found->second.memory);
    return cudaSuccess;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  return guardedDriver([&] {
    requireResult(properties);
    const std::lock_guard lock(virtualMemory().mutex);
    *properties = virtualMemory().at(handle)->properties;
    return cudaSuccess;
  });
}

CUresult cuMemExportToShareableHandle(void* sharedHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return guardedDriver([&] {
    requireResult(sharedHandle);
    if (flags != 0) return cudaErrorInvalidValue;
    if (rawValue(type) != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return cudaErrorNotSupported;
    const std::lock_guard lock(virtualMemory().mutex);
    const SharedMemory& memory = virtualMemory().at(handle);
    if ((rawValue(memory->properties.requestedHandleTypes) & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0)
      return cudaErrorInvalidValue;
    const int file = fcntl(memory->file.get(), F_DUPFD_CLOEXEC, 0);
    if (file < 0) return cudaErrorOperatingSystem;
    *static_cast<int*>(sharedHandle) = file;
    return cudaSuccess;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* sharedHandle,
                                        CUmemAllocationHandleType type) {
  return guardedDriver([&] {
    requireResult(handle);
    if (rawValue(type) != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return cudaErrorNotSupported;
    const auto theirs = static_cast<int>(reinterpret_cast<std::intptr_t>(sharedHandle));
    FileDescriptor file(fcntl(theirs, F_DUPFD_CLOEXEC, 0));
    struct stat about;
    if (!file || fstat(file.get(), &about) != 0 || !isWhole(static_cast<std::size_t>(about.st_size)))
      return cudaErrorInvalidValue;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device::currentDevice()};
    const std::lock_guard lock(virtualMemory().mutex);
    *handle = virtualMemory().add(std::make_shared<PhysicalMemory>(
        PhysicalMemory{std::move(file), static_cast<std::size_t>(about.st_size), properties}));
    return cudaSuccess;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
  return guardedDriver([&] {
    requireResult(address);
    const std::size_t step = alignment == 0 ? kGranularity : std::max(alignment, kGranularity);
    if (!isWhole(bytes) || flags != 0 || (step & (step - 1)) != 0 || bytes > SIZE_MAX - step)
      return cudaErrorInvalidValue;
    // More than is asked for, and then what is too much at both ends away; `wanted` is a hint.
    void* const all =
        mmap(addressOf(wanted), bytes + step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return cudaErrorMemoryAllocation;
    const CUdeviceptr start = (pointerOf(all) + step - 1) / step * step;
    const std::size_t before = start - pointerOf(all);
    if (before > 0) munmap(all, before);
    munmap(addressOf(start + bytes), step - before);
    const std::lock_guard lock(virtualMemory().mutex);
    virtualMemory().reserved[start] = bytes;
    *address = start;
    return cudaSuccess;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return guardedDriver([&] {
    VirtualMemory& all = virtualMemory();
    const std::lock_guard lock(all.mutex);
    const auto found = all.reserved.find(address);
    if (found == all.reserved.end() || found->second != bytes || all.overlaps(address, bytes))
      return cudaErrorInvalidValue;
    all.reserved.erase(found);
    return munmap(addressOf(address), bytes) == 0 ? cudaSuccess : cudaErrorOperatingSystem;
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return guardedDriver([&] {
    VirtualMemory& all = virtualMemory();
    const std::lock_guard lock(all.mutex);
    const SharedMemory& memory = all.at(handle);
    if (flags != 0 || !isWhole(bytes) || address % kGranularity != 0 || offset % kGranularity != 0)
      return cudaErrorInvalidValue;
    if (bytes > memory->bytes || offset > memory->bytes - bytes) return cudaErrorInvalidValue;
    if (!all.isReserved(address, bytes) || all.overlaps(address, bytes)) return cudaErrorInvalidValue;
    if (mmap(addressOf(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file.get(),
             static_cast<off_t>(offset)) == MAP_FAILED)
      return cudaErrorMapBufferObjectFailed;
    const CUmemLocation& place = memory->properties.location;
    const bool ofDevice = rawValue(place.type) == CU_MEM_LOCATION_TYPE_DEVICE;
    cuda_api::AllocationTable::instance().add({.type = ofDevice ? cudaMemoryTypeDevice : cudaMemoryTypeHost,
                                               .device = ofDevice ? place.id : device::currentDevice(),
                                               .registered = true,
                                               .start = static_cast<std::byte*>(addressOf(address)),
                                               .bytes = bytes});
    all.mapped[address] = {bytes, memory, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    return cudaSuccess;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return guardedDriver([&] {
    if (bytes == 0) return cudaErrorInvalidValue;
    cudaError_t outcome = cudaSuccess;
    for (int device = 0; device < deviceCount(); ++device)
      if (const cudaError_t failed = waitForDevice(device)) outcome = failed;
    VirtualMemory& all = virtualMemory();
    const std::lock_guard lock(all.mutex);
    // Whole mappings only, without gaps.
    CUdeviceptr end = address;
    auto last = all.mapped.find(address);
    while (last != all.mapped.end() && last->first == end && end - address < bytes) {
      end += last->second.bytes;
      ++last;
    }
    if (end - address != bytes) return cudaErrorInvalidValue;
    for (auto mapping = all.mapped.find(address); mapping != last; mapping = all.mapped.erase(mapping))
      cuda_api::AllocationTable::instance().free(addressOf(mapping->first),
                                                 cuda_api::AllocationTable::kRegistered);
    return clearAddresses(addressOf(address), bytes, MAP_FIXED) ? outcome : cudaErrorUnmapBufferObjectFailed;
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* accesses, size_t count) {
  return guardedDriver([&] {
    if (accesses == nullptr || count == 0 || bytes == 0) return cudaErrorInvalidValue;
    unsigned access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    for (std::size_t i = 0; i < count; ++i) {
      const auto wanted = static_cast<unsigned>(rawValue(accesses[i].flags));
      protectionOf(wanted);
      access = std::max(access, wanted);
    }
    VirtualMemory& all = virtualMemory();
    const std::lock_guard lock(all.mutex);
    CUdeviceptr end = address;
    auto mapping = all.mapped.find(address);
    for (; mapping != all.mapped.end() && mapping->first == end && end - address < bytes; ++mapping)
      end += mapping->second.bytes;
    if (end - address != bytes) return cudaErrorInvalidValue;
    if (mprotect(addressOf(address), bytes, protectionOf(access)) != 0) return cudaErrorOperatingSystem;
    for (auto changed = all.mapped.find(address); changed != mapping; ++changed)
      changed->second.access = access;
    return cudaSuccess;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return guardedDriver([&] {
    requireResult(flags);
    requireResult(location);
    VirtualMemory& all = virtualMemory();
    const std::lock_guard lock(all.mutex);
    const auto found = all.mappingAt(address);
    if (found == all.mapped.end()) return cudaErrorInvalidValue;
    *flags = found->second.access;
    return cudaSuccess;
  });
}
