#pragma once
// Network devices of a machine and their `net` elements: the interfaces, as NCCL's socket transport chooses
// and describes them. RDMA devices (detect_rdma.h) and those of plugins become elements the same way.
//
//   const auto interfaces = chooseInterfaces(readInterfaces("/"), "");   // name, index, speed, …
//   addNets(doc, cpus, pci, socketDevices(interfaces));
//
// The choice: InfiniBand interfaces if there are any; else every interface that is up, has an address and is
// neither the loopback nor one between containers and their host; else those between containers and their
// host; else the loopback. NCCL_SOCKET_IFNAME overrides it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/topology/detect_cpu.h"
#include "planner/topology/detect_pci.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// A port of a network card, or an interface, as a job uses it.
struct NetDevice {
  std::string name;
  std::string busId;  // of its PCI device; empty for virtual ones, which hang below the first CPU
  // The bus id of the PCI function itself, where the description has the function's card instead.
  std::string functionBusId;
  int speed = 0;  // Mb/s
  int port = 0;
  std::uint64_t guid = 0;  // equal for the ports of one card
  int maxConnections = 0;
  int rail = -1, plane = -1;    // of the network; -1: unknown
  bool gdr = false;             // reaches GPU memory
  bool ethernet = false;        // an RDMA device's port is Ethernet's, not InfiniBand's
  std::optional<bool> reduces;  // leads to a network that reduces (CollNet); nullopt if unknown

  bool operator==(const NetDevice&) const = default;
};

struct NetInterface {
  std::string name;
  int index = 0;  // the kernel's; gives the order
  int speed = 0;  // Mb/s
  bool loopback = false;
  std::string busId;  // of its PCI device; empty for virtual ones
};

// The interfaces that are up and can have connections of their own, by index.
std::vector<NetInterface> readInterfaces(const std::filesystem::path& root);

// `filter` is NCCL_SOCKET_IFNAME: a comma-separated list of prefixes, "=a,b" exact names, "^a,b" all but
// these.
std::vector<NetInterface> chooseInterfaces(const std::vector<NetInterface>& interfaces,
                                           std::string_view filter);

// `NCCL_SOCKET_IFNAME=x selects no interface of this machine, which has lo, eth0`.
std::string selectsNone(const std::string& assignment, const char* kind,
                        const std::vector<std::string>& names);

// The interfaces as network devices, in the same order.
std::vector<NetDevice> socketDevices(const std::vector<NetInterface>& interfaces);

// Adds net elements and returns them in the order of the devices; the index in this order is the `dev`. NCCL
// finds a net by its name: one that a topology file describes stays in its place and keeps its attributes,
// except `dev`.
std::vector<ElementId> addNets(Document& document, CpuElements& cpus, PciTree& pci,
                               std::span<const NetDevice> devices);

}  // namespace xylem::topology
