#include "planner/topology/detect_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/error.h"
#include "core/spelling.h"
#include "planner/topology/attributes.h"
#include "planner/topology/detect_facts.h"
#include "planner/topology/detect_files.h"

namespace xylem::topology {
namespace {

// The class of a link's other end that is not on the visible PCI bus: an NVSwitch, as in NCCL. Virtual
// machines and containers usually see GPUs but no NVSwitches.
constexpr const char* kSwitchClass = "0x068000";
// The bus id of an NVLink's other end that has none, as in NCCL: fabrics of virtual machines hide it.
constexpr const char* kHiddenTarget = "fffffff:ffff:ff";

// Adds NVLinks and chip-to-chip links unless a topology file describes them, and the class of each NVLink's
// other end. By older rules a device without a readable class has none, where NCCL then fails.
void addLinks(Document& document, const PciTree& pci, ElementId gpu, const GpuFacts& facts,
              const rules::RuleSet& rules) {
  if (document.child(gpu, "nvlink") == kNoElement) {
    for (const GpuFacts::Nvlink& link : facts.nvlinks) {
      const ElementId nvlink = document.add(gpu, "nvlink");
      const bool hidden = link.target.empty() && rules.hiddenNvlinksEndAtSwitch;
      document.set(nvlink, "target", hidden ? kHiddenTarget : link.target);
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
    if (found.empty() && pci.exists(*target) && !rules.hiddenNvlinksEndAtSwitch) continue;
    document.setIfAbsent(link, "tclass", found.empty() ? kSwitchClass : found);
  }
}

// The attributes of a host device.
constexpr struct {
  // Compute capability 9.0: the youngest generation without rules for a single product. Below 80 the model
  // charges reverse traffic on shared links, which memory does not have, and forbids GPU Direct reads; from
  // 100 on it uses Blackwell's table of NVLink speeds.
  const char* computeCapability = "90";
  // MB/s: one core of current servers copies 15 to 25 GB/s from and to its own NUMA node's memory.
  const char* memoryBandwidth = "20000";
  // A gpu element needs a PCI link, so there is a made-up one beside the c2c link. The path search keeps the
  // wider of two links to a neighbour, so the made-up one is narrow: 16 lanes of the first generation are 3
  // GB/s.
  const char* linkSpeed = "2.5 GT/s PCIe";
  const char* linkWidth = "16";
  const char* deviceClass = "0x030200";  // 3D controller, what data-centre GPUs call themselves
} kHostDevice;

// The bus id of a host device: 00ff:00:00.0, 00ff:00:01.0, … in a PCI domain far from those of firmware, with
// 32 devices per bus.
std::string madeUpBusId(int number) {
  return fmt::format("00ff:{:02x}:{:02x}.0", number >> 5 & 0xff, number & 0x1f);
}

GpuFacts gpuOf(const FactLine& line) {
  GpuFacts gpu;
  gpu.dev = line.number("dev");
  gpu.busId = line.busId("busid");
  gpu.sm = line.number("sm");
  gpu.gdr = line.number("gdr", 1) != 0;
  return gpu;
}

GpuFacts::Pci pciOf(const FactLine& line) {
  constexpr unsigned kMaxId = 0xffff;
  GpuFacts::Pci pci;
  unsigned* const parts[] = {&pci.vendor, &pci.device, &pci.subsystemVendor, &pci.subsystemDevice};
  std::istringstream ids(line.text("id"));
  std::string part;
  for (unsigned* id : parts) {
    const auto number = std::getline(ids, part, ':') ? parseBusId(part) : std::nullopt;
    if (!number || *number > kMaxId)
      line.fail("id=" + line.text("id"),
                "vendor, device and their subsystem's in hex, as 10de:2330:10de:16c1");
    *id = static_cast<unsigned>(*number);
  }
  pci.generation = line.number("generation");
  pci.width = line.number("width");
  return pci;
}

class CapturedGpus : public GpuSource {
 public:
  explicit CapturedGpus(std::filesystem::path file) : file_(std::move(file)) {}

  GpuInventory read() const override {
    GpuInventory found;
    forEachFact(file_, [&](const FactLine& line) {
      if (line.kind() == "gpu") {
        found.gpus.push_back(gpuOf(line));
        return;
      }
      if (found.gpus.empty()) line.fail("`" + line.kind() + "`", "a line `gpu dev=0 busid=… sm=…` first");
      GpuFacts& gpu = found.gpus.back();
      if (line.kind() == "nvlink") {
        gpu.nvlinks.push_back({readableTarget(line.text("target")), line.number("count")});
      } else if (line.kind() == "c2c") {
        gpu.c2cBandwidth = line.number("bw");
        gpu.c2cCount = line.number("count");
      } else if (line.kind() == "pci") {
        gpu.pci = pciOf(line);
      } else {
        line.fail("`" + line.kind() + "`", "gpu, pci, nvlink or c2c");
      }
    });
    std::stable_sort(found.gpus.begin(), found.gpus.end(),
                     [](const GpuFacts& a, const GpuFacts& b) { return a.dev < b.dev; });
    return found;
  }

 private:
  std::filesystem::path file_;
};

}  // namespace

std::string readableTarget(std::string busId) {
  const bool readable = std::all_of(busId.begin(), busId.end(),
                                    [](unsigned char c) { return std::isprint(c) != 0 && c != ' '; });
  return readable ? lowerCase(std::move(busId)) : "";
}

ElementId addGpu(Document& document, PciTree& pci, const GpuFacts& facts, int rank,
                 const rules::RuleSet& rules) {
  const bool byNvml = rules.gpuLinksByNvml && facts.pci.has_value();
  const ElementId slot = pci.attach(facts.busId, kGpuClass, byNvml ? &*facts.pci : nullptr);
  ElementId gpu = document.child(slot, "gpu");
  if (gpu == kNoElement) gpu = document.add(slot, "gpu");
  document.setIfAbsent(gpu, "dev", std::to_string(facts.dev));
  document.setIfAbsent(gpu, "sm", std::to_string(facts.sm));
  document.set(gpu, "rank", std::to_string(rank));
  document.setIfAbsent(gpu, "gdr", facts.gdr ? "1" : "0");
  addLinks(document, pci, gpu, facts, rules);
  return gpu;
}

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

std::unique_ptr<GpuSource> capturedGpus(std::filesystem::path file) {
  return std::make_unique<CapturedGpus>(std::move(file));
}

std::unique_ptr<GpuSource> gpuSourceOf(const std::filesystem::path& root) {
  return root == "/" ? nvmlGpus() : capturedGpus(root / kCapturedGpusFile);
}

std::string writeGpuFacts(std::span<const GpuFacts> gpus) {
  std::string text;
  for (const GpuFacts& gpu : gpus) {
    text += fmt::format("gpu dev={} busid={} sm={} gdr={}\n", gpu.dev, gpu.busId, gpu.sm, gpu.gdr ? 1 : 0);
    if (gpu.pci)
      text += fmt::format("pci id={:04x}:{:04x}:{:04x}:{:04x} generation={} width={}\n", gpu.pci->vendor,
                          gpu.pci->device, gpu.pci->subsystemVendor, gpu.pci->subsystemDevice,
                          gpu.pci->generation, gpu.pci->width);
    for (const GpuFacts::Nvlink& link : gpu.nvlinks)
      text += fmt::format("nvlink target={} count={}\n", link.target, link.count);
    if (gpu.c2cCount > 0) text += fmt::format("c2c bw={} count={}\n", gpu.c2cBandwidth, gpu.c2cCount);
  }
  return text;
}

}  // namespace xylem::topology
