#pragma once
// The network interfaces that bootstrap and sockets use.
//
//   Interface chosen = chooseInterface(listInterfaces(), settings);
//
// NCCL_SOCKET_IFNAME is a comma-separated list of prefixes; "=" in front makes them whole names, "^" excludes
// them. Unset, interfaces of containers and virtual machines and the loopback come last, as in NCCL.
// NCCL_SOCKET_FAMILY keeps AF_INET or AF_INET6 only.
//
// Whoever knows where the root is says so, unless the user has chosen: with NCCL_COMM_ID the interface is the
// one over which the system reaches the root; with an exchanged id it at least has an address of the root's
// family, as the ranks of a job must all be able to call each other.

#include <string>
#include <vector>

#include "core/settings.h"
#include "runtime/sockets/socket_address.h"

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
Interface chooseInterface(const std::vector<Interface>& all, const Settings& settings,
                          const SocketAddress* root = nullptr);

// The address that the system would call `to` from; no family if it knows no way. Nothing is sent.
SocketAddress localAddressTowards(const SocketAddress& to);

// All that fit, by name, each with the first of its addresses that is valid beyond its link. The network
// transport's devices. May be empty.
std::vector<Interface> matchingInterfaces(const std::vector<Interface>& all, const Settings& settings);

}  // namespace xylem
