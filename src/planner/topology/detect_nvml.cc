// GPU facts of this machine from NVML, with the queries that NCCL makes.
#include "planner/topology/detect_nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "planner/topology/attributes.h"
#include "planner/topology/detect_files.h"
#include "planner/topology/detect_gpus.h"

namespace xylem::topology {
namespace {

// CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
constexpr int kAttributeGdr = 116;
constexpr int kCudaSuccess = 0;

// GPUs have chip-to-chip links from this compute capability on.
constexpr int kFirstSmWithC2c = 90;

// The most NVLinks of a GPU of this generation.
unsigned maxLinks(int sm) {
  if (sm < 60) return 0;
  if (sm < 70) return 4;
  if (sm < 80) return 6;
  if (sm < 90) return 12;
  return 18;
}

// The text in a fixed array, which may lack its final NUL.
template <std::size_t N>
std::string textOf(const char (&characters)[N]) {
  return std::string(characters, std::find(characters, characters + N, '\0'));
}

// Calls nvmlInit, and nvmlShutdown at the end.
class Session {
 public:
  explicit Session(const Nvml& nvml) : nvml_(nvml), result_(nvml.init()) {}
  ~Session() {
    if (result_ == nvml::kSuccess) nvml_.shutdown();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  int result() const { return result_; }

 private:
  const Nvml& nvml_;
  int result_;
};

// Adds the active links, as one entry per device at the other end with the number of links to it.
void addNvlinks(const Nvml& nvml, nvml::Device device, GpuFacts& gpu) {
  if (nvml.linkState == nullptr || nvml.linkCapability == nullptr || nvml.linkRemote == nullptr) return;
  for (unsigned link = 0; link < maxLinks(gpu.sm); ++link) {
    unsigned p2p = 0;
    int active = 0;
    nvml::PciInfo remote{};
    if (nvml.linkCapability(device, link, nvml::kCapabilityP2p, &p2p) != nvml::kSuccess || p2p == 0) continue;
    if (nvml.linkState(device, link, &active) != nvml::kSuccess || active == 0) continue;
    if (nvml.linkRemote(device, link, &remote) != nvml::kSuccess) continue;
    const std::string target = readableTarget(textOf(remote.busIdLegacy));
    const auto known = std::find_if(gpu.nvlinks.begin(), gpu.nvlinks.end(),
                                    [&](const GpuFacts::Nvlink& other) { return other.target == target; });
    if (known == gpu.nvlinks.end())
      gpu.nvlinks.push_back({target, 1});
    else
      ++known->count;
  }
}

// A field's value, or nullopt if NVML does not tell.
std::optional<unsigned> field(const Nvml& nvml, nvml::Device device, unsigned id, unsigned scope) {
  nvml::FieldValue value{};
  value.fieldId = id;
  value.scopeId = scope;
  if (nvml.fieldValues(device, 1, &value) != nvml::kSuccess || value.result != nvml::kSuccess)
    return std::nullopt;
  return value.value.integer;
}

// Adds the active chip-to-chip links; the bandwidth of the last one stands for all.
void addC2c(const Nvml& nvml, nvml::Device device, GpuFacts& gpu) {
  if (gpu.sm < kFirstSmWithC2c || nvml.fieldValues == nullptr) return;
  const unsigned links = field(nvml, device, nvml::kFieldC2cCount, 0).value_or(0);
  for (unsigned link = 0; link < links; ++link) {
    const auto status = field(nvml, device, nvml::kFieldC2cStatus, link);
    const auto bandwidth = field(nvml, device, nvml::kFieldC2cBandwidth, link);
    if (!status || *status == 0 || !bandwidth) continue;
    gpu.c2cBandwidth = static_cast<int>(*bandwidth);
    ++gpu.c2cCount;
  }
}

// NVML's numbers hold the vendor in their lower half.
ToldPci describePci(const Nvml& nvml, nvml::Device device, const nvml::PciInfo& pci) {
  constexpr unsigned kHalf = 16, kLower = 0xffff;
  const auto asked = [&](int (*ask)(nvml::Device, unsigned*)) {
    unsigned value = 0;
    return ask != nullptr && ask(device, &value) == nvml::kSuccess ? static_cast<int>(value) : 0;
  };
  ToldPci told;
  told.vendor = pci.pciDeviceId & kLower;
  told.device = pci.pciDeviceId >> kHalf;
  told.subsystemVendor = pci.pciSubsystemId & kLower;
  told.subsystemDevice = pci.pciSubsystemId >> kHalf;
  told.generation = asked(nvml.linkGeneration);
  told.width = asked(nvml.linkWidth);
  return told;
}

class NvmlGpus : public GpuSource {
 public:
  explicit NvmlGpus(std::string name) : name_(std::move(name)) {}

  GpuInventory read() const override {
    GpuInventory found;
    const Nvml nvml(name_);
    if (!nvml.library) return found;
    if (!nvml.usable()) {
      found.remarks.push_back(name_ + " is too old to describe GPUs: they are left out");
      return found;
    }
    const auto reason = [&](int result) {
      return nvml.errorText == nullptr ? fmt::format("error {}", result) : nvml.errorText(result);
    };
    const Session session(nvml);
    if (session.result() != nvml::kSuccess) {
      found.remarks.push_back(
          fmt::format("{} does not start ({}): GPUs are left out", name_, reason(session.result())));
      return found;
    }
    unsigned count = 0;
    if (const int result = nvml.deviceCount(&count); result != nvml::kSuccess)
      found.remarks.push_back(
          fmt::format("{} does not count GPUs ({}): they are left out", name_, reason(result)));
    const CudaDriver driver;
    for (unsigned index = 0; index < count; ++index) {
      GpuFacts gpu;
      if (const int result = describe(nvml, driver, index, gpu); result == nvml::kSuccess)
        found.gpus.push_back(std::move(gpu));
      else
        found.remarks.push_back(fmt::format("GPU {} is left out: {}: {}", index, name_, reason(result)));
    }
    return found;
  }

 private:
  static int describe(const Nvml& nvml, const CudaDriver& driver, unsigned index, GpuFacts& gpu) {
    nvml::Device device = nullptr;
    nvml::PciInfo pci{};
    int major = 0;
    int minor = 0;
    if (const int result = nvml.device(index, &device); result != nvml::kSuccess) return result;
    if (const int result = nvml.pciInfo(device, &pci); result != nvml::kSuccess) return result;
    if (const int result = nvml.computeCapability(device, &major, &minor); result != nvml::kSuccess)
      return result;
    gpu.dev = static_cast<int>(index);
    gpu.busId = busIdText(parseBusId(textOf(pci.busId)).value_or(0));
    gpu.sm = major * 10 + minor;
    gpu.gdr = driver.supportsGdr(gpu.busId);
    gpu.pci = describePci(nvml, device, pci);
    addNvlinks(nvml, device, gpu);
    addC2c(nvml, device, gpu);
    return nvml::kSuccess;
  }

  std::string name_;
};

}  // namespace

bool Nvml::usable() const {
  return library && init != nullptr && shutdown != nullptr && deviceCount != nullptr && device != nullptr &&
         pciInfo != nullptr && computeCapability != nullptr;
}

CudaDriver::CudaDriver() {
  auto* init = library_.function<int(unsigned)>("cuInit");
  if (init == nullptr || init(0) != kCudaSuccess) return;
  deviceByBusId_ = library_.function<int(int*, const char*)>("cuDeviceGetByPCIBusId");
  attribute_ = library_.function<int(int*, int, int)>("cuDeviceGetAttribute");
}

bool CudaDriver::supportsGdr(const std::string& busId) const {
  int device = 0;
  int supported = 1;
  if (deviceByBusId_ == nullptr || attribute_ == nullptr) return true;
  if (deviceByBusId_(&device, busId.c_str()) != kCudaSuccess) return true;
  return attribute_(&supported, kAttributeGdr, device) != kCudaSuccess || supported != 0;
}

std::unique_ptr<GpuSource> nvmlGpus(std::string library) {
  return std::make_unique<NvmlGpus>(std::move(library));
}

}  // namespace xylem::topology
