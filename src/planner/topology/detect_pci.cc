#include "planner/topology/detect_pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <utility>

#include "planner/topology/detect_files.h"

namespace xylem::topology {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBridgeClass = "0x060400";
constexpr const char* kBroadcomVendor = "0x1000";
constexpr std::size_t kBusIdLength = 12;

// The GT/s of a text such as "16.0 GT/s PCIe"; infinity, which limits nothing, if it does not start with a
// number ("Unknown speed").
float speedOf(const std::string& text) {
  char* end = nullptr;
  const float speed = std::strtof(text.c_str(), &end);
  return end == text.c_str() ? std::numeric_limits<float>::infinity() : speed;
}

// The slower speed of the device and the port above it.
std::string linkSpeed(const fs::path& device) {
  const std::string own = readLine(device / "max_link_speed");
  const std::string port = readLine(device.parent_path() / "max_link_speed");
  return speedOf(port) < speedOf(own) ? port : own;
}

// The number of lanes, the fewer of the device and the port above it. 0, also for a missing file, makes the
// engine assume 16, as in NCCL.
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

std::string pciFunctionOf(const fs::path& folder) {
  const fs::path device = realPath(folder / "device");
  if (device.empty() || realPath(device / "subsystem").filename() != "pci") return "";
  const std::string name = device.filename().string();
  return isBusId(name) ? name : "";
}

PciTree::PciTree(Document& document, CpuElements& cpus, std::filesystem::path root)
    : document_(document), cpus_(cpus), root_(std::move(root)) {
  std::vector<ElementId> open = {document_.root()};
  while (!open.empty()) {
    const ElementId id = open.back();
    open.pop_back();
    const Element& element = document_[id];
    const std::string* busId = document_.attribute(id, "busid");
    if (element.name == "pci" && busId != nullptr) known_.emplace(*busId, id);
    open.insert(open.end(), element.children.rbegin(), element.children.rend());
  }
}

ElementId PciTree::find(const std::string& busId) const {
  const auto found = known_.find(busId);
  return found == known_.end() ? kNoElement : found->second;
}

fs::path PciTree::folderOf(const std::string& busId) const {
  return realPath(root_ / "sys/bus/pci/devices" / busId);
}

std::string PciTree::classOf(const std::string& busId) const {
  const fs::path device = folderOf(busId);
  return device.empty() ? std::string() : readLine(device / "class");
}

ElementId PciTree::attach(const std::string& busId, const std::string& fallbackClass, const ToldPci* told) {
  const ElementId pci = place(busId);
  complete(pci, busId, fallbackClass, told);
  return pci;
}

// Two passes: the first makes the elements from the CPU down to the device, the second describes them from
// the device up. So the direct lanes of a switch stand after the first device below it, as in NCCL.
ElementId PciTree::place(const std::string& busId) {
  if (const ElementId known = find(busId); known != kNoElement) return known;
  const fs::path device = folderOf(busId);
  return insert(device.empty() ? cpus_.of(-1) : placeParent(device), busId);
}

// A device below a switch has two bridges above it: the switch's downstream port and the switch itself.
ElementId PciTree::placeParent(const fs::path& device) {
  const std::string port = device.parent_path().filename().string();
  const std::string upstream = device.parent_path().parent_path().filename().string();
  if (isBusId(port) && isBusId(upstream)) return place(upstream);
  return cpus_.of(parseInt(readLine(device / "numa_node"), -1));
}

ElementId PciTree::insert(ElementId parent, const std::string& busId) {
  const std::vector<ElementId>& siblings = document_[parent].children;
  const auto isLater = [&](ElementId sibling) {
    const std::string* other = document_.attribute(sibling, "busid");
    return other != nullptr && *other > busId;
  };
  // Bus ids mostly come in ascending order: then the new element belongs behind the newest, without a search.
  const bool ascending = !siblings.empty() && siblings.back() == newest_ && !isLater(newest_);
  const auto later = ascending ? siblings.end() : std::find_if(siblings.begin(), siblings.end(), isLater);
  const ElementId pci = document_.add(parent, "pci", 0, static_cast<std::size_t>(later - siblings.begin()));
  newest_ = pci;
  document_.set(pci, "busid", busId);
  known_.emplace(busId, pci);
  return pci;
}

// Describes the element and all elements above it, each once: a file may have described any part of this
// path.
void PciTree::complete(ElementId pci, std::string busId, const std::string& fallbackClass,
                       const ToldPci* told) {
  if (!complete_.insert(pci).second) return;
  describe(pci, folderOf(busId), fallbackClass, told);
  addSwitchLinks(pci, busId);
  const ElementId parent = document_[pci].parent;
  if (document_[parent].name == "cpu") cpus_.complete(parent);
  const std::string* above = document_.attribute(parent, "busid");
  if (document_[parent].name == "pci" && above != nullptr) complete(parent, *above, kBridgeClass, nullptr);
}

void PciTree::describe(ElementId pci, const fs::path& device, const std::string& fallbackClass,
                       const ToldPci* told) {
  const auto read = [&](const char* file) {
    return device.empty() ? std::string() : readLine(device / file);
  };
  if (const std::string deviceClass = read("class"); !deviceClass.empty())
    document_.set(pci, "class", deviceClass);
  else
    document_.setIfAbsent(pci, "class", fallbackClass);
  constexpr std::string_view kDisplays = "0x03";
  if (told != nullptr && document_.attribute(pci, "class")->starts_with(kDisplays))
    return describeAsTold(pci, *told);
  for (const char* name : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
    if (const std::string value = read(name); !value.empty()) document_.setIfAbsent(pci, name, value);
  document_.setIfAbsent(pci, "link_speed", device.empty() ? "" : linkSpeed(device));
  document_.setIfAbsent(pci, "link_width", device.empty() ? "" : std::to_string(linkWidth(device)));
}

// The slot above counts no more. A generation that cannot be read gets a text that stands for none in NCCL's table of speeds,
// so that it counts as the third; one without a text leaves the attribute out.
void PciTree::describeAsTold(ElementId pci, const ToldPci& told) {
  constexpr const char* kSpeeds[] = {"16.0 GT/s",      "2.5 GT/s PCIe",  "5.0 GT/s PCIe", "8.0 GT/s PCIe",
                                     "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
  constexpr int kUsualWidth = 16;
  const std::pair<const char*, unsigned> ids[] = {{"vendor", told.vendor},
                                                  {"device", told.device},
                                                  {"subsystem_vendor", told.subsystemVendor},
                                                  {"subsystem_device", told.subsystemDevice}};
  for (const auto& [name, id] : ids) document_.setIfAbsent(pci, name, fmt::format("{:#x}", id));
  if (told.generation >= 0 && told.generation <= kLastPciGeneration)
    document_.setIfAbsent(pci, "link_speed", kSpeeds[told.generation]);
  document_.setIfAbsent(pci, "link_width", std::to_string(told.width > 0 ? told.width : kUsualWidth));
}

// Adds a pcilink for each other switch to which a Broadcom switch has a direct lane.
void PciTree::addSwitchLinks(ElementId pci, const std::string& busId) {
  const std::string* vendor = document_.attribute(pci, "vendor");
  if (vendor == nullptr || *vendor != kBroadcomVendor) return;
  for (const std::string& peer :
       listFolder(root_ / "sys/kernel/pci_switch_link/virtual_switch_links" / busId)) {
    if (!isBusId(peer) || folderOf(peer).empty()) continue;
    if (document_.child(pci, "pcilink", "target", peer) == kNoElement)
      document_.set(document_.add(pci, "pcilink"), "target", peer);
  }
}

}  // namespace xylem::topology
