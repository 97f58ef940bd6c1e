// host/cuda_runtime_api.h: devices: the current one, properties as a structure and by number, flags, access
// between devices.

#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/device/host_device.h"

using namespace xylem;
using namespace xylem::api;

namespace {

struct MachineMemory {
  std::size_t available = 0;  // bytes
  std::size_t total = 0;
};

// `NAME: 1234 kB` of /proc/meminfo, in bytes; 0 if there is no such line.
std::size_t memoryInfo(const std::string& name) {
  std::ifstream lines("/proc/meminfo");
  std::string word;
  while (lines >> word) {
    std::size_t kilobytes = 0;
    if (word == name + ":" && lines >> kilobytes) return kilobytes * 1024;
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

MachineMemory machineMemory() { return {memoryInfo("MemAvailable"), memoryInfo("MemTotal")}; }

// The number in a file; 0 if there is none.
int numberIn(const char* path) {
  std::ifstream file(path);
  int number = 0;
  return file >> number ? number : 0;
}

cudaUUID_t uuidOf(int device) {
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof host - 1);
  const std::uint64_t parts[2] = {std::hash<std::string>{}(host), static_cast<std::uint64_t>(device)};
  cudaUUID_t uuid{};
  static_assert(sizeof parts == sizeof uuid.bytes);
  std::memcpy(uuid.bytes, parts, sizeof parts);
  return uuid;
}

// A made-up PCI address, by which programs can tell devices apart: domain ffff, in which no real device is,
// and the number of the device as bus and slot.
struct PciAddress {
  int domain = 0xffff;
  int bus = 0;
  int slot = 0;
};

PciAddress pciAddressOf(int device) { return {.bus = device / 32, .slot = device % 32}; }

// The launch limits of a GPU of the same compute capability: programs compute with them.
void setLaunchLimits(cudaDeviceProp& known) {
  known.warpSize = 32;
  known.maxThreadsPerBlock = 1024;
  known.maxThreadsPerMultiProcessor = 2048;
  known.maxBlocksPerMultiProcessor = 32;
  known.maxThreadsDim[0] = known.maxThreadsDim[1] = 1024;
  known.maxThreadsDim[2] = 64;
  known.maxGridSize[0] = INT_MAX;
  known.maxGridSize[1] = known.maxGridSize[2] = 65535;
  known.sharedMemPerBlock = std::size_t{48} << 10;
  known.sharedMemPerBlockOptin = std::size_t{227} << 10;
  known.sharedMemPerMultiprocessor = std::size_t{228} << 10;
  known.reservedSharedMemPerBlock = std::size_t{1} << 10;
  known.regsPerBlock = known.regsPerMultiprocessor = 65536;
  known.totalConstMem = std::size_t{64} << 10;
}

// Host memory is device memory.
void setMemory(cudaDeviceProp& known) {
  known.totalGlobalMem = machineMemory().total;
  known.memPitch = INT_MAX;
  known.textureAlignment = known.surfaceAlignment = 512;
  known.texturePitchAlignment = 32;
  known.integrated = known.canMapHostMemory = known.unifiedAddressing = known.managedMemory = 1;
  known.hostNativeAtomicSupported = known.pageableMemoryAccess = known.concurrentManagedAccess = 1;
  known.canUseHostPointerForRegisteredMem = known.pageableMemoryAccessUsesHostPageTables = 1;
  known.directManagedMemAccessFromHost = known.hostRegisterSupported = 1;
  known.hostRegisterReadOnlySupported = known.ipcEventSupported = 1;
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  known.l2CacheSize = static_cast<int>(cache > 0 && cache < INT_MAX ? cache : 0);
}

cudaDeviceProp propertiesOf(int device) {
  cudaDeviceProp known{};
  std::snprintf(known.name, sizeof known.name, "Xylem host device %d", device);
  known.uuid = uuidOf(device);
  known.major = 9;
  known.minor = 0;
  known.multiProcessorCount = device::coreCount();
  known.clockRate = numberIn("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  const PciAddress address = pciAddressOf(device);
  known.pciDomainID = address.domain;
  known.pciBusID = address.bus;
  known.pciDeviceID = address.slot;
  known.concurrentKernels = known.deviceOverlap = known.asyncEngineCount = 1;
  known.streamPrioritiesSupported = known.globalL1CacheSupported = known.localL1CacheSupported = 1;
  known.computePreemptionSupported = known.unifiedFunctionPointers = known.memoryPoolsSupported = 1;
  known.memoryPoolSupportedHandleTypes = cudaMemHandleTypePosixFileDescriptor;
  known.singleToDoublePrecisionPerfRatio = 2;
  known.deviceNumaId = known.hostNumaId = -1;
  setLaunchLimits(known);
  setMemory(known);
  return known;
}

// The largest number of an attribute.
constexpr int kLastAttribute = cudaDevAttrOnlyPartialHostNativeAtomicSupported;

// Attributes without a field of their own are 0.
int attributeOf(const cudaDeviceProp& known, int attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return known.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
      return known.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY:
      return known.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ:
      return known.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX:
      return known.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
      return known.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ:
      return known.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(known.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(known.totalConstMem);
    case cudaDevAttrWarpSize:
      return known.warpSize;
    case cudaDevAttrMaxPitch:
      return static_cast<int>(known.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return known.regsPerBlock;
    case cudaDevAttrClockRate:
      return known.clockRate;
    case cudaDevAttrTextureAlignment:
      return static_cast<int>(known.textureAlignment);
    case cudaDevAttrGpuOverlap:
      return known.deviceOverlap;
    case cudaDevAttrMultiProcessorCount:
      return known.multiProcessorCount;
    case cudaDevAttrKernelExecTimeout:
      return known.kernelExecTimeoutEnabled;
    case cudaDevAttrIntegrated:
      return known.integrated;
    case cudaDevAttrCanMapHostMemory:
      return known.canMapHostMemory;
    case cudaDevAttrComputeMode:
      return known.computeMode;
    case cudaDevAttrSurfaceAlignment:
      return static_cast<int>(known.surfaceAlignment);
    case cudaDevAttrConcurrentKernels:
      return known.concurrentKernels;
    case cudaDevAttrEccEnabled:
      return known.ECCEnabled;
    case cudaDevAttrPciBusId:
      return known.pciBusID;
    case cudaDevAttrPciDeviceId:
      return known.pciDeviceID;
    case cudaDevAttrTccDriver:
      return known.tccDriver;
    case cudaDevAttrMemoryClockRate:
      return known.memoryClockRate;
    case cudaDevAttrGlobalMemoryBusWidth:
      return known.memoryBusWidth;
    case cudaDevAttrL2CacheSize:
      return known.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return known.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount:
      return known.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing:
      return known.unifiedAddressing;
    case cudaDevAttrPciDomainId:
      return known.pciDomainID;
    case cudaDevAttrTexturePitchAlignment:
      return static_cast<int>(known.texturePitchAlignment);
    case cudaDevAttrComputeCapabilityMajor:
      return known.major;
    case cudaDevAttrComputeCapabilityMinor:
      return known.minor;
    case cudaDevAttrStreamPrioritiesSupported:
      return known.streamPrioritiesSupported;
    case cudaDevAttrGlobalL1CacheSupported:
      return known.globalL1CacheSupported;
    case cudaDevAttrLocalL1CacheSupported:
      return known.localL1CacheSupported;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(known.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return known.regsPerMultiprocessor;
    case cudaDevAttrManagedMemory:
      return known.managedMemory;
    case cudaDevAttrIsMultiGpuBoard:
      return known.isMultiGpuBoard;
    case cudaDevAttrMultiGpuBoardGroupID:
      return known.multiGpuBoardGroupID;
    case cudaDevAttrHostNativeAtomicSupported:
      return known.hostNativeAtomicSupported;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return known.singleToDoublePrecisionPerfRatio;
    case cudaDevAttrPageableMemoryAccess:
      return known.pageableMemoryAccess;
    case cudaDevAttrConcurrentManagedAccess:
      return known.concurrentManagedAccess;
    case cudaDevAttrComputePreemptionSupported:
      return known.computePreemptionSupported;
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      return known.canUseHostPointerForRegisteredMem;
    case cudaDevAttrCooperativeLaunch:
      return known.cooperativeLaunch;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(known.sharedMemPerBlockOptin);
    case cudaDevAttrHostRegisterSupported:
      return known.hostRegisterSupported;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
      return known.pageableMemoryAccessUsesHostPageTables;
    case cudaDevAttrDirectManagedMemAccessFromHost:
      return known.directManagedMemAccessFromHost;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return known.maxBlocksPerMultiProcessor;
    case cudaDevAttrHostRegisterReadOnlySupported:
      return known.hostRegisterReadOnlySupported;
    case cudaDevAttrMemoryPoolsSupported:
      return known.memoryPoolsSupported;
    case cudaDevAttrMemoryPoolSupportedHandleTypes:
      return static_cast<int>(known.memoryPoolSupportedHandleTypes);
    case cudaDevAttrGPUDirectRDMASupported:
      return known.gpuDirectRDMASupported;
    case cudaDevAttrIpcEventSupport:
      return known.ipcEventSupported;
    case cudaDevAttrNumaConfig:
      return known.deviceNumaConfig;
    case cudaDevAttrNumaId:
      return known.deviceNumaId;
    case cudaDevAttrHostNumaId:
      return known.hostNumaId;
    default:
      return 0;
  }
}

// State that programs set and read back.
struct DeviceState {
  std::mutex mutex;
  std::map<int, unsigned> flags;
  std::set<std::pair<int, int>> peers;  // from the first device, the second one was made reachable
};
DeviceState& deviceState() {
  static DeviceState& state = *std::make_unique<DeviceState>().release();  // used until the program ends
  return state;
}

cudaError_t changePeer(int peer, bool enable) {
  return guardedCuda([&] {
    requireDevice(peer);
    if (peer == device::currentDevice()) return cudaErrorInvalidDevice;
    DeviceState& state = deviceState();
    const std::lock_guard lock(state.mutex);
    const std::pair<int, int> pair{device::currentDevice(), peer};
    if (!enable) return state.peers.erase(pair) > 0 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
    return state.peers.insert(pair).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t storeFlags(int device, unsigned flags) {
  if ((flags & ~static_cast<unsigned>(cudaDeviceMask)) != 0) return cudaErrorInvalidValue;
  DeviceState& state = deviceState();
  const std::lock_guard lock(state.mutex);
  state.flags[device] = flags;
  return cudaSuccess;
}

std::string busIdOf(int device) {
  const PciAddress address = pciAddressOf(device);
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", static_cast<unsigned>(address.domain),
                static_cast<unsigned>(address.bus), static_cast<unsigned>(address.slot));
  return text;
}

// The newest version whose programs run, as a GPU's driver tells it.
constexpr int kDriverVersion = 13000;

cudaError_t tellVersion(int* version, int number) {
  return guardedCuda([&] {
    requireResult(version);
    *version = number;
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return guardedCuda([&] {
    requireResult(properties);
    requireDevice(device);
    *properties = propertiesOf(device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return guardedCuda([&] {
    requireResult(value);
    requireDevice(device);
    const int number = rawValue(attribute);
    if (number < cudaDevAttrMaxThreadsPerBlock || number > kLastAttribute) return cudaErrorInvalidValue;
    *value = attributeOf(propertiesOf(device), number);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return guardedCuda([&] {
    requireResult(count);
    *count = deviceCount();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return guardedCuda([&] {
    requireDevice(device);
    device::setCurrentDevice(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return guardedCuda([&] {
    requireResult(device);
    *device = device::currentDevice();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return guardedCuda([] { return waitForDevice(device::currentDevice()); });
}

cudaError_t cudaDeviceReset(void) {
  return guardedCuda([] {
    const cudaError_t outcome = waitForDevice(device::currentDevice());
    cudaGetLastError();
    return outcome;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return guardedCuda([&] {
    requireResult(config);
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return guardedCuda([&] {
    requireResult(config);
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget target,
                                               cudaFlushGPUDirectRDMAWritesScope scope) {
  const bool known = rawValue(target) == cudaFlushGPUDirectRDMAWritesTargetCurrentDevice &&
                     (rawValue(scope) == cudaFlushGPUDirectRDMAWritesToOwner ||
                      rawValue(scope) == cudaFlushGPUDirectRDMAWritesToAllDevices);
  return known ? cudaSuccess : rememberCuda(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return guardedCuda([&] {
    requireDevice(device);
    return cudaSuccess;
  });
}

cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }

cudaError_t cudaDeviceGetPCIBusId(char* busId, int length, int device) {
  return guardedCuda([&] {
    if (busId == nullptr || length < 1) return cudaErrorInvalidValue;
    requireDevice(device);
    const std::string text = busIdOf(device);
    if (text.size() >= static_cast<size_t>(length)) return cudaErrorInvalidValue;
    std::memcpy(busId, text.c_str(), text.size() + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* busId) {
  return guardedCuda([&] {
    requireResult(device);
    requireResult(busId);
    for (int i = 0; i < deviceCount(); ++i) {
      if (busIdOf(i) != busId) continue;
      *device = i;
      return cudaSuccess;
    }
    return cudaErrorInvalidDevice;
  });
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  return guardedCuda([&] {
    requireResult(available);
    requireResult(total);
    const MachineMemory memory = machineMemory();
    *available = memory.available;
    *total = memory.total;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return guardedCuda([&] { return storeFlags(device::currentDevice(), flags); });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return guardedCuda([&] {
    requireResult(flags);
    DeviceState& state = deviceState();
    const std::lock_guard lock(state.mutex);
    *flags = state.flags[device::currentDevice()];
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned deviceFlags, unsigned flags) {
  constexpr unsigned kFlagsAreValid = 0x01;
  return guardedCuda([&] {
    requireDevice(device);
    if ((flags & ~kFlagsAreValid) != 0) return cudaErrorInvalidValue;
    return flags == kFlagsAreValid ? storeFlags(device, deviceFlags) : cudaSuccess;
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return rememberCuda(cudaErrorUnsupportedLimit); }
cudaError_t cudaDeviceGetLimit(size_t*, cudaLimit) { return rememberCuda(cudaErrorUnsupportedLimit); }

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return guardedCuda([&] {
    requireResult(can);
    requireDevice(device);
    requireDevice(peer);
    *can = device != peer ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return flags == 0 ? changePeer(peer, true) : rememberCuda(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) { return changePeer(peer, false); }

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer) {
  return guardedCuda([&] {
    requireResult(value);
    requireDevice(device);
    requireDevice(peer);
    if (device == peer) return cudaErrorInvalidDevice;
    switch (rawValue(attribute)) {
      case cudaDevP2PAttrPerformanceRank:
      case cudaDevP2PAttrCudaArrayAccessSupported:
        *value = 0;
        return cudaSuccess;
      case cudaDevP2PAttrAccessSupported:
      case cudaDevP2PAttrNativeAtomicSupported:
        *value = 1;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaDriverGetVersion(int* version) { return tellVersion(version, kDriverVersion); }
cudaError_t cudaRuntimeGetVersion(int* version) { return tellVersion(version, CUDART_VERSION); }

cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
