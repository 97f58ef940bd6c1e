#pragma once
// The network interface that the bootstrap uses.
//
//   Interface chosen = chooseInterface(listInterfaces(), settings);
//
// NCCL_SOCKET_IFNAME is a comma-separated list of prefixes; "=" in front makes them whole names, "^" excludes
// them. Unset, interfaces of containers and virtual machines and the loopback come last, as in NCCL.
// NCCL_SOCKET_FAMILY keeps AF_INET or AF_INET6 only.

#include <string>
#include <vector>

#include "bootstrap/socket_address.h"
#include "core/settings.h"

namespace xylem {

struct Interface {
  std::string name;
  SocketAddress address;
};

// Those that are up and have an address, in the system's order.
std::vector<Interface> listInterfaces();

// AF_INET, AF_INET6, or AF_UNSPEC if NCCL_SOCKET_FAMILY does not say.
int socketFamily(const Settings& settings);

// Throws, naming what there is, if nothing fits.
Interface chooseInterface(const std::vector<Interface>& all, const Settings& settings);

}  // namespace xylem
