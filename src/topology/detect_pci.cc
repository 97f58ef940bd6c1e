#include "topology/detect_pci.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>

#include "topology/detect_files.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBridgeClass = "0x060400";
constexpr const char* kBroadcomVendor = "0x1000";
constexpr std::size_t kBusIdLength = 12;

// GT/s of "16.0 GT/s PCIe"; what does not start with a number ("Unknown speed") limits nothing.
float speedOf(const std::string& text) {
  char* end = nullptr;
  const float speed = std::strtof(text.c_str(), &end);
  return end == text.c_str() ? std::numeric_limits<float>::infinity() : speed;
}

// The slower of the device and the port it is plugged into.
std::string linkSpeed(const fs::path& device) {
  const std::string own = readLine(device / "max_link_speed");
  const std::string port = readLine(device.parent_path() / "max_link_speed");
  return speedOf(port) < speedOf(own) ? port : own;
}

// Lanes; 0 (also where a file is missing) makes the engine assume 16, as in NCCL.
int linkWidth(const fs::path& device) {
  return std::min(parseInt(readLine(device / "max_link_width"), 0),
                  parseInt(readLine(device.parent_path() / "max_link_width"), 0));
}

}  // namespace

bool isBusId(std::string_view text) {
  constexpr std::string_view kForm = "hhhh:hh:hh.h";
  static_assert(kForm.size() == kBusIdLength);
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fits =
        kForm[i] == 'h' ? std::isxdigit(static_cast<unsigned char>(text[i])) != 0 : text[i] == kForm[i];
    if (!fits) return false;
  }
  return true;
}

ElementId PciTree::find(const std::string& busId) const {
  const auto found = known_.find(busId);
  return found == known_.end() ? kNoElement : found->second;
}

ElementId PciTree::attach(const std::string& busId, const std::string& fallbackClass) {
  if (const ElementId existing = find(busId); existing != kNoElement) return existing;
  const fs::path device = realPath(root_ / "sys/bus/pci/devices" / busId);
  const ElementId parent = device.empty() ? cpus_.of(-1) : attachParent(device);
  const ElementId pci = insert(parent, busId);
  describe(pci, device, fallbackClass);
  addSwitchLinks(pci, busId);
  return pci;
}

// A device below a switch has two bridges above it: the switch's downstream port and the switch itself.
ElementId PciTree::attachParent(const fs::path& device) {
  const std::string port = device.parent_path().filename().string();
  const std::string upstream = device.parent_path().parent_path().filename().string();
  if (isBusId(port) && isBusId(upstream)) return attach(upstream, kBridgeClass);
  return cpus_.of(parseInt(readLine(device / "numa_node"), -1));
}

ElementId PciTree::insert(ElementId parent, const std::string& busId) {
  // From the end: bus ids mostly come in order.
  const std::vector<ElementId>& siblings = document_[parent].children;
  std::size_t position = siblings.size();
  while (position > 0) {
    const std::string* other = document_.attribute(siblings[position - 1], "busid");
    if (other == nullptr || *other < busId) break;
    --position;
  }
  const ElementId pci = document_.add(parent, "pci", 0, position);
  document_.set(pci, "busid", busId);
  known_.emplace(busId, pci);
  return pci;
}

void PciTree::describe(ElementId pci, const fs::path& device, const std::string& fallbackClass) {
  const auto read = [&](const char* file) {
    return device.empty() ? std::string() : readLine(device / file);
  };
  const std::string deviceClass = read("class");
  document_.set(pci, "class", deviceClass.empty() ? fallbackClass : deviceClass);
  for (const char* name : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
    if (const std::string value = read(name); !value.empty()) document_.set(pci, name, value);
  document_.set(pci, "link_speed", device.empty() ? "" : linkSpeed(device));
  document_.set(pci, "link_width", device.empty() ? "" : std::to_string(linkWidth(device)));
}

// Broadcom switches tell which other switches they have a direct lane to.
void PciTree::addSwitchLinks(ElementId pci, const std::string& busId) {
  const std::string* vendor = document_.attribute(pci, "vendor");
  if (vendor == nullptr || *vendor != kBroadcomVendor) return;
  for (const std::string& peer :
       listFolder(root_ / "sys/kernel/pci_switch_link/virtual_switch_links" / busId)) {
    if (!isBusId(peer) || realPath(root_ / "sys/bus/pci/devices" / peer).empty()) continue;
    document_.set(document_.add(pci, "pcilink"), "target", peer);
  }
}

}  // namespace xylem
