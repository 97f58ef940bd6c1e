// A handful of NVML's functions for host devices: those by which programs count devices, name them and ask for links.
// They are a library of their own, which only programs find that ask for it by NVML's name (cmake/xylem_drop_in.cmake).
// NVML's documentation declares the functions.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "host/cuda_runtime_api.h"

namespace {

enum Result {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kUnknown = 999
};

// Device 0 is 1, as null is none.
using Device = struct DeviceRecord*;
Device handleOf(int device) { return reinterpret_cast<Device>(static_cast<std::uintptr_t>(device) + 1); }
std::intptr_t numberOf(Device device) { return reinterpret_cast<std::intptr_t>(device) - 1; }

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device;
  unsigned pciDeviceId, pciSubsystemId;
  char busId[32];
};
static_assert(sizeof(PciInfo) == 68);

// A pair of devices can do this: read, write and atomics in each other's memory, but not over NVLink.
constexpr int kOverNvlink = 2, kLastOfPair = 4;
constexpr int kPairCan = 0, kPairCannot = 5;

// The driver that came with the version of CUDA that cudaDriverGetVersion tells.
constexpr const char* kDriver = "580.00";

std::atomic<int> users{0};

int deviceCount() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

Result check(Device device, const void* result) {
  if (users.load() == 0) return kUninitialized;
  if (result == nullptr || numberOf(device) < 0 || numberOf(device) >= deviceCount()) return kInvalidArgument;
  return kSuccess;
}

// Runs `answer` with the device's number, if there is one and somewhere to store the answer.
template <typename Answer>
int tell(Device device, const void* result, Answer answer) {
  const Result good = check(device, result);
  return good == kSuccess ? answer(static_cast<int>(numberOf(device))) : good;
}

int copyText(const char* text, char* to, unsigned bytes) {
  if (std::strlen(text) >= bytes) return kInsufficientSize;
  std::strcpy(to, text);
  return kSuccess;
}

int noLink(Device device, const void* result) {
  const Result good = check(device, result);
  return good == kSuccess ? kNotSupported : good;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvmlInit_v2() {
  users.fetch_add(1);
  return kSuccess;
}
int nvmlInit() { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
int nvmlShutdown() {
  int now = users.load();
  while (now > 0 && !users.compare_exchange_weak(now, now - 1)) {
  }
  return now > 0 ? kSuccess : kUninitialized;
}

const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized: nvmlInit_v2 was not called";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported: host devices do not have this";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    default:
      return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  if (users.load() == 0) return kUninitialized;
  return version == nullptr ? kInvalidArgument : copyText(kDriver, version, length);
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  if (users.load() == 0) return kUninitialized;
  if (count == nullptr) return kInvalidArgument;
  *count = static_cast<unsigned>(deviceCount());
  return kSuccess;
}
int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (users.load() == 0) return kUninitialized;
  if (device == nullptr || index >= static_cast<unsigned>(deviceCount())) return kInvalidArgument;
  *device = handleOf(static_cast<int>(index));
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex(unsigned index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

// NVML writes the domain with eight digits, CUDA with four.
int nvmlDeviceGetHandleByPciBusId_v2(const char* busId, Device* device) {
  if (users.load() == 0) return kUninitialized;
  unsigned domain = 0, bus = 0, slot = 0;
  if (device == nullptr || busId == nullptr || std::sscanf(busId, "%x:%x:%x", &domain, &bus, &slot) != 3)
    return kInvalidArgument;
  char known[32];
  std::snprintf(known, sizeof known, "%04x:%02x:%02x.0", domain, bus, slot);
  int number = 0;
  if (cudaDeviceGetByPCIBusId(&number, known) != cudaSuccess) {
    cudaGetLastError();
    return kNotFound;
  }
  *device = handleOf(number);
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId(const char* busId, Device* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(busId, device);
}

int nvmlDeviceGetIndex(Device device, unsigned* index) {
  return tell(device, index, [&](int number) {
    *index = static_cast<unsigned>(number);
    return kSuccess;
  });
}

int nvmlDeviceGetName(Device device, char* name, unsigned length) {
  return tell(device, name, [&](int number) -> int {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return kUnknown;
    return copyText(properties.name, name, length);
  });
}

int nvmlDeviceGetUUID(Device device, char* uuid, unsigned length) {
  return tell(device, uuid, [&](int number) -> int {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return kUnknown;
    char text[64] = "GPU-";
    std::size_t at = std::strlen(text);
    for (std::size_t i = 0; i < std::size(properties.uuid.bytes); ++i) {
      const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
      at += static_cast<std::size_t>(std::snprintf(text + at, sizeof text - at, "%s%02x", dash ? "-" : "",
                                                   static_cast<unsigned char>(properties.uuid.bytes[i])));
    }
    return copyText(text, uuid, length);
  });
}

int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  return tell(device, info, [&](int number) -> int {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return kUnknown;
    *info = {};
    info->domain = static_cast<unsigned>(properties.pciDomainID);
    info->bus = static_cast<unsigned>(properties.pciBusID);
    info->device = static_cast<unsigned>(properties.pciDeviceID);
    std::snprintf(info->busId, sizeof info->busId, "%08X:%02X:%02X.0", info->domain, info->bus, info->device);
    std::snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%04X:%02X:%02X.0", info->domain & 0xffff,
                  info->bus & 0xff, info->device & 0xff);
    return kSuccess;
  });
}

int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  return tell(device, major == nullptr ? nullptr : minor, [&](int number) -> int {
    const bool told =
        cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, number) == cudaSuccess &&
        cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, number) == cudaSuccess;
    return told ? kSuccess : kUnknown;
  });
}

int nvmlDeviceGetP2PStatus(Device first, Device second, int what, int* status) {
  if (const Result good = check(second, status); good != kSuccess) return good;
  if (what < 0 || what > kLastOfPair) return kInvalidArgument;
  return tell(first, status, [&](int) {
    *status = what == kOverNvlink ? kPairCannot : kPairCan;
    return kSuccess;
  });
}

int nvmlDeviceGetNvLinkState(Device device, unsigned, int* state) { return noLink(device, state); }
int nvmlDeviceGetNvLinkCapability(Device device, unsigned, int, unsigned* can) { return noLink(device, can); }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned, PciInfo* info) {
  return noLink(device, info);
}
int nvmlDeviceGetNvLinkVersion(Device device, unsigned, unsigned* version) { return noLink(device, version); }
int nvmlDeviceGetFieldValues(Device device, int, void* values) { return noLink(device, values); }
int nvmlDeviceGetGpuFabricInfoV(Device device, void* info) { return noLink(device, info); }
}
#pragma GCC visibility pop
