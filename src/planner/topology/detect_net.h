#pragma once
// Network interfaces of a machine, as NCCL's socket transport chooses and describes them.
//
//   for (const NetInterface& i : chooseInterfaces(readInterfaces("/"), "")) ... i.name, i.speed
//
// The choice: InfiniBand interfaces if there are any; else every interface that is up, has an address and is
// neither the loopback nor a container's plumbing; else that plumbing; else the loopback. NCCL_SOCKET_IFNAME
// overrides it.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "planner/topology/detect_net_device.h"

namespace xylem {

struct NetInterface {
  std::string name;
  int index = 0;  // the kernel's; gives the order
  int speed = 0;  // Mb/s
  bool loopback = false;
  std::string busId;  // of its PCI device; empty for virtual ones
};

// Those that are up and can have connections of their own, by index.
std::vector<NetInterface> readInterfaces(const std::filesystem::path& root);

// `filter` is NCCL_SOCKET_IFNAME: a comma-separated list of prefixes, "=a,b" exact names, "^a,b" all but
// these.
std::vector<NetInterface> chooseInterfaces(const std::vector<NetInterface>& interfaces,
                                           std::string_view filter);

// As network devices, numbered in this order.
std::vector<NetDevice> socketDevices(const std::vector<NetInterface>& interfaces);

}  // namespace xylem
