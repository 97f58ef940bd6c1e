#pragma once
// The PCI tree from sysfs: a device's element with its identity and its link, below its switches and its CPU.
//
//   PciTree pci(doc, cpus, "/");
//   ElementId nic = pci.attach("0000:3b:00.0", "0x02");   // and every switch above it, once
//
// As in NCCL, only the devices that a job needs and the switches above them become elements. A switch is one
// element, named after its upstream port; its downstream ports and the root port are part of the links. An
// element that a topology file describes stays in its place and keeps its attributes, except `class`; it gets
// those that are missing.

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "planner/topology/detect_cpu.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// Returns whether the text has the form "0000:3b:00.0": domain, bus, device, function.
bool isBusId(std::string_view text);
// The bus id of the PCI function behind a folder of /sys/class; empty for a device that is not on a PCI bus itself (virtio, USB),
// whose interface NCCL treats as virtual.
std::string pciFunctionOf(const std::filesystem::path& folder);

// A PCI device as another source than the kernel tells it, and its link as it runs at the moment.
struct ToldPci {
  unsigned vendor = 0, device = 0, subsystemVendor = 0, subsystemDevice = 0;
  int generation = 0;  // of PCI Express, 1 for 2.5 GT/s; 0 if it cannot be read
  int width = 0;       // lanes; 0 if it cannot be read
  bool operator==(const ToldPci&) const = default;
};
// NCCL has texts for generations up to this one.
constexpr int kLastPciGeneration = 6;

class PciTree {
 public:
  PciTree(Document& document, CpuElements& cpus, std::filesystem::path root);

  // The device's element, made with all elements above it if it does not exist. It gets `fallbackClass` if
  // its class cannot be read. For a GPU, `told` takes the place of the kernel's files; null: they describe it.
  ElementId attach(const std::string& busId, const std::string& fallbackClass, const ToldPci* told = nullptr);
  // The element with this bus id, or kNoElement.
  ElementId find(const std::string& busId) const;
  // Adds a pci element to `parent`, in the order of bus ids among its siblings.
  ElementId insert(ElementId parent, const std::string& busId);
  // The device's class code from sysfs; empty if the system hides it.
  std::string classOf(const std::string& busId) const;
  // Returns whether the system shows the device.
  bool exists(const std::string& busId) const { return !busId.empty() && !folderOf(busId).empty(); }

 private:
  std::filesystem::path folderOf(const std::string& busId) const;
  ElementId place(const std::string& busId);
  ElementId placeParent(const std::filesystem::path& device);
  // Takes `busId` by value: the texts of a document move when it grows.
  void complete(ElementId pci, std::string busId, const std::string& fallbackClass, const ToldPci* told);
  void describe(ElementId pci, const std::filesystem::path& device, const std::string& fallbackClass,
                const ToldPci* told);
  void describeAsTold(ElementId pci, const ToldPci& told);
  void addSwitchLinks(ElementId pci, const std::string& busId);

  Document& document_;
  CpuElements& cpus_;
  std::filesystem::path root_;
  std::unordered_map<std::string, ElementId> known_;  // by bus id
  std::unordered_set<ElementId> complete_;
  ElementId newest_ = kNoElement;  // the element that insert made last
};

}  // namespace xylem::topology
