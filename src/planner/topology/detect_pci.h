#pragma once
// The PCI tree from sysfs: a device's element with its identity and its link, below the switches and the CPU
// it hangs on.
//
//   PciTree pci(doc, cpus, "/");
//   ElementId nic = pci.attach("0000:3b:00.0", "0x02");   // and every switch above it, once
//
// As NCCL does it, only what leads to a wanted device becomes an element: a switch is one element, named
// after its upstream port; its downstream ports and the root port are part of the links. Elements that a
// topology file described stay where they are and keep their attributes, but for `class`; what is missing
// from them is filled in.

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "planner/topology/detect_cpu.h"
#include "planner/topology/document.h"

namespace xylem {

// "0000:3b:00.0": domain, bus, device, function.
bool isBusId(std::string_view text);

class PciTree {
 public:
  PciTree(Document& document, CpuElements& cpus, std::filesystem::path root);

  // The device's element, made with everything above it if it is not there yet. `fallbackClass` stands in
  // where the class cannot be read.
  ElementId attach(const std::string& busId, const std::string& fallbackClass);
  // kNoElement if there is none.
  ElementId find(const std::string& busId) const;
  // Adds a pci element to `parent`, in the order of bus ids among its siblings.
  ElementId insert(ElementId parent, const std::string& busId);
  // The `class` file of a device; empty if the device or the file is hidden.
  std::string classOf(const std::string& busId) const;

 private:
  std::filesystem::path folderOf(const std::string& busId) const;
  ElementId place(const std::string& busId);
  ElementId placeParent(const std::filesystem::path& device);
  // By value: the document's own texts move when it grows.
  void complete(ElementId pci, std::string busId, const std::string& fallbackClass);
  void describe(ElementId pci, const std::filesystem::path& device, const std::string& fallbackClass);
  void addSwitchLinks(ElementId pci, const std::string& busId);

  Document& document_;
  CpuElements& cpus_;
  std::filesystem::path root_;
  std::unordered_map<std::string, ElementId> known_;  // by bus id
  std::unordered_set<ElementId> complete_;
  ElementId newest_ = kNoElement;  // of insert
};

}  // namespace xylem
