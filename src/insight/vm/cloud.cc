#include "insight/vm/cloud.h"

#include <cstdlib>
#include <set>
#include <string>

namespace xylem::vm {
namespace {

constexpr std::uint64_t kAmazon = 0x1d0f, kMellanox = 0x15b3, kGoogle = 0x1ae0;
constexpr GpuModel kA100{0x20b0, "80"}, kA100With80{0x20b2, "80"}, kH100{0x2330, "90"}, kH200{0x2335, "90"};

// PCI ids from the public list of ids, numbers of devices from the providers' pages of instance types.
constexpr CloudInstance kInstances[] = {
    {"AWS p4d.24xlarge", kA100, kAmazon, 8, 4},
    {"AWS p4de.24xlarge", kA100With80, kAmazon, 8, 4},
    {"AWS p5.48xlarge", kH100, kAmazon, 8, 32},
    {"AWS p5en.48xlarge", kH200, kAmazon, 8, 16},
    {"AWS p5e.48xlarge", kH200, kAmazon, 8, 32},
    {"Azure ND A100 v4", kA100, kMellanox, 8, 8},
    {"Azure NDm A100 v4", kA100With80, kMellanox, 8, 8},
    {"Azure ND H100 v5", kH100, kMellanox, 8, 8},
    {"Azure ND H200 v5 or Google a3-ultragpu-8g", kH200, kMellanox, 8, 8},
    {"Google a3-highgpu-8g", kH100, kGoogle, 8, 4},
};

std::uint64_t idOf(const topology::Document& document, topology::ElementId pci, const char* name) {
  const std::string* text = document.attribute(pci, name);
  return text == nullptr ? 0 : std::strtoull(text->c_str(), nullptr, 16);
}

struct Seen {
  int gpus = 0, nets = 0;
  std::set<std::uint64_t> gpuDevices, netVendors;
  std::set<std::string> capabilities;
};

void look(const topology::Document& document, topology::ElementId element, topology::ElementId pci,
          Seen& seen) {
  const std::string& name = document[element].name;
  if (name == "pci") pci = element;
  if (pci != topology::kNoElement && name == "gpu") {
    ++seen.gpus;
    seen.gpuDevices.insert(idOf(document, pci, "device"));
    if (const std::string* sm = document.attribute(element, "sm")) seen.capabilities.insert(*sm);
  }
  if (pci != topology::kNoElement && name == "net") {
    ++seen.nets;
    seen.netVendors.insert(idOf(document, pci, "vendor"));
  }
  for (const topology::ElementId child : document[element].children) look(document, child, pci, seen);
}

}  // namespace

const CloudInstance* cloudInstanceOf(const topology::Document& document) {
  Seen seen;
  look(document, document.root(), topology::kNoElement, seen);
  for (const CloudInstance& instance : kInstances)
    if (seen.gpus == instance.gpus && seen.nets == instance.nets &&
        seen.gpuDevices == std::set{instance.gpu.device} && seen.netVendors == std::set{instance.netVendor} &&
        // A description that says otherwise was put together by hand.
        (seen.capabilities.empty() || seen.capabilities == std::set<std::string>{instance.gpu.sm}))
      return &instance;
  return nullptr;
}

}  // namespace xylem::vm
