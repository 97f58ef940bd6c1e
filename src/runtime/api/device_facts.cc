#include "runtime/api/device_facts.h"

#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include "runtime/device/host_device.h"

namespace xylem {
namespace {

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

// The shape of launches that a GPU of the same compute capability would take: programs compute with it.
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

}  // namespace

MachineMemory machineMemory() { return {memoryInfo("MemAvailable"), memoryInfo("MemTotal")}; }

PciPlace pciPlaceOf(int device) { return {.bus = device / 32, .slot = device % 32}; }

cudaDeviceProp propertiesOf(int device) {
  cudaDeviceProp known{};
  std::snprintf(known.name, sizeof known.name, "Xylem host device %d", device);
  known.uuid = uuidOf(device);
  known.major = 9;
  known.minor = 0;
  known.multiProcessorCount = coreCount();
  known.clockRate = numberIn("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  const PciPlace place = pciPlaceOf(device);
  known.pciDomainID = place.domain;
  known.pciBusID = place.bus;
  known.pciDeviceID = place.slot;
  known.concurrentKernels = known.deviceOverlap = known.asyncEngineCount = 1;
  known.streamPrioritiesSupported = known.globalL1CacheSupported = known.localL1CacheSupported = 1;
  known.computePreemptionSupported = known.unifiedFunctionPointers = 1;
  known.singleToDoublePrecisionPerfRatio = 2;
  known.deviceNumaId = known.hostNumaId = -1;
  setLaunchLimits(known);
  setMemory(known);
  return known;
}

}  // namespace xylem
