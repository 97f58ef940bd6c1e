// NVML of a made-up machine: GPU 0 has NVLinks of all kinds of trouble and chip-to-chip links, GPU 1 is lost,
// GPU 2 is of an older generation. FAKE_NVML_INIT in the environment is what nvmlInit_v2 returns.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "planner/topology/detect_nvml.h"

using xylem::topology::nvml::Device;
using xylem::topology::nvml::FieldValue;
using xylem::topology::nvml::PciInfo;

namespace {

constexpr int kInvalidArgument = 2;
constexpr int kNotFound = 6;
constexpr int kGpuIsLost = 15;

std::size_t numberOf(Device device) { return reinterpret_cast<std::size_t>(device) - 1; }

void write(PciInfo& pci, unsigned bus) {
  pci.bus = bus;
  std::snprintf(pci.busIdLegacy, sizeof pci.busIdLegacy, "0000:%02X:00.0", bus);
  std::snprintf(pci.busId, sizeof pci.busId, "00000000:%02X:00.0", bus);
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvmlInit_v2() {
  const char* result = std::getenv("FAKE_NVML_INIT");
  return result == nullptr ? 0 : std::atoi(result);
}
FAKE int nvmlShutdown() { return 0; }
FAKE const char* nvmlErrorString(int result) {
  return result == kGpuIsLost ? "GPU is lost" : "Driver Not Loaded";
}
FAKE int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 3, 0; }
FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index == 1) return kGpuIsLost;
  return *device = reinterpret_cast<Device>(static_cast<std::size_t>(index) + 1), 0;
}
FAKE int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  pci->pciDeviceId = 0x233010de;
  pci->pciSubsystemId = 0x16c110de;
  return write(*pci, 0x1b + static_cast<unsigned>(numberOf(device))), 0;
}
FAKE int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  return *major = numberOf(device) == 0 ? 9 : 7, *minor = 0, 0;
}
FAKE int nvmlDeviceGetNvLinkCapability(Device device, unsigned link, int capability, unsigned* result) {
  if (capability != xylem::topology::nvml::kCapabilityP2p) return kInvalidArgument;
  return *result = numberOf(device) == 0 && link == 3 ? 0 : 1, 0;
}
FAKE int nvmlDeviceGetNvLinkState(Device device, unsigned link, int* active) {
  return *active = numberOf(device) == 0 && (link == 4 || link > 9) ? 0 : 1, 0;
}
FAKE int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* pci) {
  if (numberOf(device) == 0 && link == 5) return kNotFound;
  return write(*pci, link % 2 == 0 ? 0x0a : 0xc4), 0;
}
FAKE int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return *generation = 5, numberOf(device) == 0 ? 0 : kNotFound;
}
FAKE int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  return *width = 16, numberOf(device) == 0 ? 0 : kNotFound;
}
FAKE int nvmlDeviceGetFieldValues(Device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].result = 0;
    if (values[i].fieldId == xylem::topology::nvml::kFieldC2cCount) values[i].value.integer = 3;
    if (values[i].fieldId == xylem::topology::nvml::kFieldC2cStatus)
      values[i].value.integer = values[i].scopeId != 1;
    if (values[i].fieldId == xylem::topology::nvml::kFieldC2cBandwidth) values[i].value.integer = 44712;
  }
  return 0;
}
