#include "planner/topology/detect_host_devices.h"

#include <algorithm>

namespace xylem {
namespace {

// What a host device looks like to the engine.
constexpr struct {
  // Compute capability 9.0: the youngest generation without rules for one product. Below 80 the model charges
  // reverse traffic on shared links, which memory does not have, and forbids GPU Direct reads; 100 and more
  // is Blackwell's NVLink speed table.
  const char* computeCapability = "90";
  // MB/s: what one core copies from and to its own NUMA node's memory on current servers (15 to 25 GB/s).
  const char* memoryBandwidth = "20000";
  // A made-up PCI link beside the c2c link, as a gpu element needs one. The path search keeps the wider of
  // two links to a neighbour, so it has to be the narrower: 16 lanes of the first generation are 3 GB/s.
  const char* linkSpeed = "2.5 GT/s PCIe";
  const char* linkWidth = "16";
  const char* deviceClass = "0x030200";  // 3D controller, what data-centre GPUs call themselves
} kHostDevice;

// Bus ids 00ff:00:00.0, 00ff:00:01.0, …: a PCI domain far from those that firmware hands out, 32 devices per
// bus.
std::string madeUpBusId(int number) {
  return fmt::format("00ff:{:02x}:{:02x}.0", number >> 5 & 0xff, number & 0x1f);
}

}  // namespace

void addHostDevices(Document& document, CpuElements& cpus, PciTree& pci, const CpuLayout& layout, int count) {
  std::vector<int> nodeOfCore;
  for (const NumaNode& node : layout.nodes) nodeOfCore.insert(nodeOfCore.end(), node.cores.size(), node.id);
  const auto cores = static_cast<std::int64_t>(nodeOfCore.size());
  const std::int64_t devices = std::max<std::int64_t>(count, cores);
  int number = 0;
  for (std::int64_t dev = 0; dev < devices; ++dev) {
    const int node = nodeOfCore[static_cast<std::size_t>(dev * cores / devices)];
    while (pci.find(madeUpBusId(number)) != kNoElement) ++number;
    const ElementId slot = pci.insert(cpus.of(node), madeUpBusId(number++));
    document.set(slot, "class", kHostDevice.deviceClass);
    document.set(slot, "link_speed", kHostDevice.linkSpeed);
    document.set(slot, "link_width", kHostDevice.linkWidth);
    const ElementId gpu = document.add(slot, "gpu");
    document.set(gpu, "dev", std::to_string(dev));
    document.set(gpu, "sm", kHostDevice.computeCapability);
    document.set(gpu, "gdr", "0");
    document.set(gpu, "host", "1");
    const ElementId memory = document.add(gpu, "c2c");
    document.set(memory, "bw", kHostDevice.memoryBandwidth);
    document.set(memory, "count", "1");
  }
}

}  // namespace xylem
