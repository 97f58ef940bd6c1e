#include "planner/topology/detect_net_device.h"

#include <fmt/format.h>

namespace xylem {
namespace {

constexpr const char* kNicClass = "0x02";
// No driver tells a latency; in the form in which NCCL writes numbers that need not be whole.
constexpr const char* kLatency = "0.000000";

// The first in document order.
ElementId findNet(const Document& document, ElementId below, const std::string& name) {
  const std::string* own = document.attribute(below, "name");
  if (document[below].name == "net" && own != nullptr && *own == name) return below;
  for (const ElementId child : document[below].children)
    if (const ElementId found = findNet(document, child, name); found != kNoElement) return found;
  return kNoElement;
}

ElementId netElement(Document& document, CpuElements& cpus, PciTree& pci, const NetDevice& device) {
  if (const ElementId known = findNet(document, document.root(), device.name); known != kNoElement) {
    const ElementId above = document[document[known].parent].parent;
    if (document[above].name == "cpu") cpus.complete(above);
    if (const std::string* busId = document.attribute(above, "busid"))
      pci.attach(std::string(*busId), kNicClass);
    return known;
  }
  const ElementId parent = device.busId.empty() ? cpus.first() : pci.attach(device.busId, kNicClass);
  ElementId nic = document.child(parent, "nic");
  if (nic == kNoElement) nic = document.add(parent, "nic");
  const ElementId net = document.add(nic, "net");
  document.set(net, "name", device.name);
  return net;
}

}  // namespace

std::vector<ElementId> addNets(Document& document, CpuElements& cpus, PciTree& pci,
                               std::span<const NetDevice> devices) {
  std::vector<ElementId> nets;
  for (const NetDevice& device : devices) {
    const ElementId net = netElement(document, cpus, pci, device);
    document.set(net, "dev", std::to_string(nets.size()));
    document.setIfAbsent(net, "latency", kLatency);
    document.setIfAbsent(net, "speed", std::to_string(device.speed));
    document.setIfAbsent(net, "port", std::to_string(device.port));
    document.setIfAbsent(net, "guid", fmt::format("{:#x}", device.guid));
    document.setIfAbsent(net, "maxconn", std::to_string(device.maxConnections));
    document.setIfAbsent(net, "gdr", device.gdr ? "1" : "0");
    if (device.reduces) document.setIfAbsent(net, "coll", *device.reduces ? "1" : "0");
    nets.push_back(net);
  }
  return nets;
}

}  // namespace xylem
