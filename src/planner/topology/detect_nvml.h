#pragma once
// The functions of NVML (NVIDIA's management library) and of the CUDA driver that detection calls, as their
// documentation declares them. Both libraries come with NVIDIA's driver and are loaded at run time, so
// building needs neither header.
//
//   const Nvml nvml("libnvidia-ml.so.1");
//   if (nvml.usable() && nvml.init() == nvml::kSuccess) ...

#include <string>

#include "core/shared_library.h"

namespace xylem::topology {

namespace nvml {

using Device = struct DeviceRecord*;
constexpr int kSuccess = 0;

struct PciInfo {
  char busIdLegacy[16];  // "0000:1B:00.0"
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubsystemId;
  char busId[32];  // "00000000:1B:00.0"
};

static_assert(sizeof(PciInfo) == 68);

union Value {
  double number;
  unsigned integer;
  unsigned long long wide;
};

struct FieldValue {
  unsigned fieldId;
  unsigned scopeId;
  long long timestamp;
  long long latencyMicroseconds;
  int valueType;
  int result;
  Value value;
};

static_assert(sizeof(FieldValue) == 40);

constexpr int kCapabilityP2p = 0;         // of a link: GPUs may reach each other's memory over it
constexpr unsigned kFieldC2cCount = 170;  // chip-to-chip links of a GPU
constexpr unsigned kFieldC2cStatus = 171;
constexpr unsigned kFieldC2cBandwidth = 172;  // MB/s

}  // namespace nvml

struct Nvml {
  explicit Nvml(const std::string& name) : library(name) {}

  // Returns whether the library is there and has the functions that every version since 2018 has.
  bool usable() const;

  SharedLibrary library;
  template <typename Signature>
  Signature* get(const char* name) const {
    return library.function<Signature>(name);
  }

  int (*init)() = get<int()>("nvmlInit_v2");
  int (*shutdown)() = get<int()>("nvmlShutdown");
  const char* (*errorText)(int) = get<const char*(int)>("nvmlErrorString");
  int (*deviceCount)(unsigned*) = get<int(unsigned*)>("nvmlDeviceGetCount_v2");
  int (*device)(unsigned, nvml::Device*) = get<int(unsigned, nvml::Device*)>("nvmlDeviceGetHandleByIndex_v2");
  int (*pciInfo)(nvml::Device,
                 nvml::PciInfo*) = get<int(nvml::Device, nvml::PciInfo*)>("nvmlDeviceGetPciInfo_v3");
  int (*computeCapability)(nvml::Device, int*,
                           int*) = get<int(nvml::Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability");
  // The rest is null with some drivers.
  int (*linkState)(nvml::Device, unsigned,
                   int*) = get<int(nvml::Device, unsigned, int*)>("nvmlDeviceGetNvLinkState");
  int (*linkCapability)(nvml::Device, unsigned, int, unsigned*) =
      get<int(nvml::Device, unsigned, int, unsigned*)>("nvmlDeviceGetNvLinkCapability");
  int (*linkRemote)(nvml::Device, unsigned, nvml::PciInfo*) =
      get<int(nvml::Device, unsigned, nvml::PciInfo*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  int (*linkGeneration)(nvml::Device,
                        unsigned*) = get<int(nvml::Device, unsigned*)>("nvmlDeviceGetCurrPcieLinkGeneration");
  int (*linkWidth)(nvml::Device,
                   unsigned*) = get<int(nvml::Device, unsigned*)>("nvmlDeviceGetCurrPcieLinkWidth");
  int (*fieldValues)(nvml::Device, int, nvml::FieldValue*) =
      get<int(nvml::Device, int, nvml::FieldValue*)>("nvmlDeviceGetFieldValues");
};

// Asks the CUDA driver whether a GPU supports GPUDirect RDMA. No answer counts as true, like a file without
// `gdr`.
class CudaDriver {
 public:
  CudaDriver();
  bool supportsGdr(const std::string& busId) const;

 private:
  SharedLibrary library_{"libcuda.so.1"};
  int (*deviceByBusId_)(int*, const char*) = nullptr;
  int (*attribute_)(int*, int, int) = nullptr;
};

}  // namespace xylem::topology
