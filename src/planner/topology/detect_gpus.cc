#include "planner/topology/detect_gpus.h"

namespace xylem {
namespace {

// What NCCL takes the other end of an NVLink for if it is not on the PCI bus that we see: in a virtual
// machine or a container that is an NVSwitch, as GPUs are there as a rule.
constexpr const char* kSwitchClass = "0x068000";

void addLinks(Document& document, const PciTree& pci, ElementId gpu, const GpuFacts& facts) {
  if (document.child(gpu, "nvlink") == kNoElement) {
    for (const GpuFacts::Nvlink& link : facts.nvlinks) {
      const ElementId nvlink = document.add(gpu, "nvlink");
      document.set(nvlink, "target", link.target);
      document.set(nvlink, "count", std::to_string(link.count));
    }
  }
  if (facts.c2cCount > 0 && document.child(gpu, "c2c") == kNoElement) {
    const ElementId c2c = document.add(gpu, "c2c");
    document.set(c2c, "bw", std::to_string(facts.c2cBandwidth));
    document.set(c2c, "count", std::to_string(facts.c2cCount));
  }
  for (const ElementId link : document[gpu].children) {
    const std::string* target = document.attribute(link, "target");
    if (document[link].name != "nvlink" || target == nullptr) continue;
    const std::string found = pci.classOf(*target);
    document.setIfAbsent(link, "tclass", found.empty() ? kSwitchClass : found);
  }
}

}  // namespace

ElementId addGpu(Document& document, PciTree& pci, const GpuFacts& facts, int rank) {
  const ElementId slot = pci.attach(facts.busId, kGpuClass);
  ElementId gpu = document.child(slot, "gpu");
  if (gpu == kNoElement) gpu = document.add(slot, "gpu");
  document.setIfAbsent(gpu, "dev", std::to_string(facts.dev));
  document.setIfAbsent(gpu, "sm", std::to_string(facts.sm));
  document.set(gpu, "rank", std::to_string(rank));
  document.setIfAbsent(gpu, "gdr", facts.gdr ? "1" : "0");
  addLinks(document, pci, gpu, facts);
  return gpu;
}

}  // namespace xylem
