#include "cli/machine_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "cli/number_text.h"
#include "planner/topology/attributes.h"

namespace xylem::cli {
namespace {

// Common makers of switches and NICs by PCI vendor id, from the PCI-SIG's list.
struct Maker {
  std::uint64_t vendor;
  const char* name;
};
constexpr Maker kMakers[] = {
    {0x1000, "Broadcom"},  {0x10b5, "PLX"},     {0x10de, "NVIDIA"},   {0x10ee, "Xilinx"},
    {0x11f8, "Microchip"}, {0x1425, "Chelsio"}, {0x14e4, "Broadcom"}, {0x15b3, "Mellanox"},
    {0x1af4, "virtio"},    {0x1d0f, "Amazon"},  {0x1dd8, "Pensando"}, {0x1ded, "Alibaba"},
    {0x8086, "Intel"},     {0x1022, "AMD"},     {0x17db, "Cray"},
};

std::string makerAndDevice(std::uint64_t vendor, std::uint64_t device) {
  if (vendor == 0 && device == 0) return "";
  for (const Maker& maker : kMakers)
    if (maker.vendor == vendor) return fmt::format("{} {:04x}", maker.name, device);
  return fmt::format("{:04x}:{:04x}", vendor, device);
}

bool severalHosts(const topology::System& system) {
  return std::any_of(system.nodes(topology::NodeType::kCpu).begin(),
                     system.nodes(topology::NodeType::kCpu).end(),
                     [&](topology::NodeId cpu) { return system[cpu].key.system() != 0; });
}

// The parts of a node's label.
struct Words {
  std::string kind;
  std::string number;
};

Words words(const topology::System& system, topology::NodeId node) {
  const topology::NodeKey key = system[node].key;
  switch (system.type(node)) {
    case topology::NodeType::kGpu:
      return {"GPU", std::to_string(system.gpu(node).rank)};
    case topology::NodeType::kNet:
      return {"NET", std::to_string(key.local())};
    case topology::NodeType::kCpu:
      return {"CPU", key.local() == topology::NodeKey::kLocalMask ? "?" : std::to_string(key.local())};
    case topology::NodeType::kPci:
      return {"switch", topology::busIdText(key.local())};
    case topology::NodeType::kNic:
      return key.local() == 0 ? Words{"virtual", "NIC"} : Words{"NIC", topology::busIdText(key.local())};
    case topology::NodeType::kNvs:
      return {"NVSwitch", ""};
    case topology::NodeType::kGin:
      return {"GIN", std::to_string(key.local())};
    case topology::NodeType::kRma:
      return {"RMA", std::to_string(key.local())};
    case topology::NodeType::kCxb:
      return {"C2C", "of parts"};
    case topology::NodeType::kDev:
      return {"unused", "GPU"};
  }
  return {};
}

// "@1" if the description has several hosts. GPUs go by their rank in the job, and the NVSwitch belongs to
// all hosts.
std::string hostSuffix(const topology::System& system, topology::NodeId node) {
  const topology::NodeType type = system.type(node);
  if (type == topology::NodeType::kGpu || type == topology::NodeType::kNvs || !severalHosts(system))
    return "";
  return fmt::format("@{}", system[node].key.system());
}

std::string attributeOr(const topology::Document& document, topology::ElementId element,
                        std::string_view name) {
  const std::string* value = element == topology::kNoElement ? nullptr : document.attribute(element, name);
  return value == nullptr ? "" : *value;
}

void addPart(std::string& text, const std::string& part) {
  if (part.empty()) return;
  if (!text.empty()) text += ", ";
  text += part;
}

std::string cpuDetail(const topology::Document& document, const topology::System& system,
                      topology::NodeId node) {
  const topology::Cpu& cpu = system.cpu(node);
  const topology::ElementId element = system[node].element;
  std::string text;
  if (cpu.arch == topology::CpuArch::kX86) {
    const char* vendor = cpu.vendor == topology::CpuVendor::kIntel     ? "Intel"
                         : cpu.vendor == topology::CpuVendor::kAmd     ? "AMD"
                         : cpu.vendor == topology::CpuVendor::kZhaoxin ? "Zhaoxin"
                                                                       : "x86";
    text = vendor;
    const std::string family = attributeOr(document, element, "familyid");
    const std::string model = attributeOr(document, element, "modelid");
    if (!family.empty() && !model.empty()) text += fmt::format(" family {} model {}", family, model);
  } else {
    text = topology::name(cpu.arch);
  }
  addPart(text, system[node].key.local() == topology::NodeKey::kLocalMask
                    ? "NUMA node unknown"
                    : fmt::format("NUMA node {}", system[node].key.local()));
  if (!cpu.affinity.empty()) addPart(text, fmt::format("CPUs {}", cpuRanges(cpu.affinity)));
  return text;
}

std::string gpuDetail(const topology::System& system, topology::NodeId node) {
  const topology::Gpu& gpu = system.gpu(node);
  std::string text = gpu.hostDevice ? "host device" : topology::busIdText(system[node].key.local());
  addPart(text, fmt::format("dev {}", gpu.dev));
  addPart(text, fmt::format("sm {}", gpu.sm));
  if (gpu.gdr) addPart(text, "GPU Direct RDMA");
  return text;
}

std::string netDetail(const topology::System& system, topology::NodeId node) {
  const topology::Net& net = system.net(node);
  std::string text = net.name;
  // GB/s to Gb/s.
  addPart(text, fmt::format("{:g} Gb/s", net.bandwidth * 8));
  if (net.port > 0) addPart(text, fmt::format("port {}", net.port));
  if (net.gdr) addPart(text, "GPU Direct RDMA");
  if (net.coll) addPart(text, "CollNet");
  return text;
}

}  // namespace

std::string nodeLabel(const topology::System& system, topology::NodeId node) {
  const Words text = words(system, node);
  return text.kind + (text.number.empty() ? "" : " ") + text.number + hostSuffix(system, node);
}

std::string shortLabel(const topology::System& system, topology::NodeId node) {
  const Words text = words(system, node);
  return text.kind + text.number + hostSuffix(system, node);
}

std::string nodeDetail(const topology::Document& document, const topology::System& system,
                       topology::NodeId node) {
  switch (system.type(node)) {
    case topology::NodeType::kGpu:
      return gpuDetail(system, node);
    case topology::NodeType::kCpu:
      return cpuDetail(document, system, node);
    case topology::NodeType::kNet:
      return netDetail(system, node);
    case topology::NodeType::kPci: {
      const std::uint64_t device = system.pci(node).device;
      return makerAndDevice(device >> 48, device >> 32 & 0xffff);
    }
    case topology::NodeType::kNic: {
      // Vendor and device stand at the PCI element around the nic's.
      const topology::ElementId nic = system[node].element;
      const topology::ElementId pci =
          nic == topology::kNoElement ? topology::kNoElement : document[nic].parent;
      if (pci == topology::kNoElement || document[pci].name != "pci") return "";
      const topology::Attributes attributes(document, pci);
      return makerAndDevice(attributes.hex("vendor", 0), attributes.hex("device", 0));
    }
    case topology::NodeType::kNvs:
    case topology::NodeType::kGin:
    case topology::NodeType::kRma:
    case topology::NodeType::kCxb:
    case topology::NodeType::kDev:
      return "";
  }
  return "";
}

std::string inventory(const topology::System& system) {
  const topology::NodeId firstGpu = system.node(topology::NodeType::kGpu, 0);
  const bool hostDevices = system.count(topology::NodeType::kGpu) > 0 && system.gpu(firstGpu).hostDevice;
  std::string text = counted(system.count(topology::NodeType::kGpu), hostDevices ? "host device" : "GPU");
  const auto add = [&](topology::NodeType type, std::string_view singular) {
    if (system.count(type) > 0) addPart(text, counted(system.count(type), singular));
  };
  add(topology::NodeType::kNet, "NET");
  add(topology::NodeType::kPci, "PCI switch");
  add(topology::NodeType::kNvs, "NVSwitch");
  add(topology::NodeType::kCpu, "CPU");
  return text;
}

std::string cpuRanges(std::string_view mask) {
  // Each hex digit stands for four CPUs, the last digit for CPUs 0 to 3.
  std::vector<int> cpus;
  int number = 0;
  for (std::size_t i = mask.size(); i-- > 0;) {
    if (mask[i] == ',') continue;
    if (std::isxdigit(static_cast<unsigned char>(mask[i])) == 0) return std::string(mask);
    const int digit = std::stoi(std::string(1, mask[i]), nullptr, 16);
    for (int bit = 0; bit < 4; ++bit)
      if ((digit >> bit & 1) != 0) cpus.push_back(number + bit);
    number += 4;
  }
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (end > i) text += fmt::format("-{}", cpus[end]);
    i = end + 1;
  }
  return text.empty() ? "none" : text;
}

}  // namespace xylem::cli
