#pragma once
// A port of a network card, or an interface, as a job would use it, and its `net` element.
//
//   addNets(doc, cpus, pci, rdmaDevices("/", {}));
//
// NCCL finds a net by its name: one that a topology file describes stays in its place and keeps its
// attributes, except its number.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/topology/detect_pci.h"

namespace xylem {

struct NetDevice {
  std::string name;
  std::string busId;  // of its PCI device; empty for virtual ones, which hang below the first CPU
  // Of the function itself, where its card stands for it in the description.
  std::string functionBusId;
  int speed = 0;  // Mb/s
  int port = 0;
  std::uint64_t guid = 0;  // equal for the ports of one card
  int maxConnections = 0;
  bool gdr = false;             // reaches GPU memory
  std::optional<bool> reduces;  // leads to a network that reduces (CollNet); nothing: nobody asked

  bool operator==(const NetDevice&) const = default;
};

// Returns the net elements in the order of the devices, whose index is the `dev`.
std::vector<ElementId> addNets(Document& document, CpuElements& cpus, PciTree& pci,
                               std::span<const NetDevice> devices);

}  // namespace xylem
