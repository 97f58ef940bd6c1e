#pragma once
// The network interfaces that bootstrap and sockets use.
//
//   Interface chosen = chooseInterface(listInterfaces(), settings);
//
// NCCL_SOCKET_IFNAME is a comma-separated list of prefixes; "=" in front makes them whole names, "^" excludes
// them. Unset, interfaces of containers and virtual machines and the loopback come last, as in NCCL.
// NCCL_SOCKET_FAMILY keeps AF_INET or AF_INET6 only.
//
// If neither is set and the root's address is known, that decides: with NCCL_COMM_ID the interface is the one
// over which the system reaches the root. With an exchanged id it has an address of the root's family, as all
// ranks of a job must be able to connect to each other.

#include <string>
#include <vector>

#include "core/settings.h"
#include "runtime/sockets/socket_address.h"

namespace xylem::sockets {

struct Interface {
  std::string name;
  SocketAddress address;
};

// One entry for each IPv4 or IPv6 address of an interface that is up, in the system's order.
std::vector<Interface> listInterfaces();

// AF_INET, AF_INET6, or AF_UNSPEC if NCCL_SOCKET_FAMILY does not say.
int socketFamily(const Settings& settings);

// Throws, listing all interfaces, if none fits. `root` is the root's address, if known.
Interface chooseInterface(const std::vector<Interface>& all, const Settings& settings,
                          const SocketAddress* root = nullptr);

// Returns a warning if NCCL_SOCKET_IFNAME selects the loopback, over which no other host is reached, although other interfaces
// are up; else empty. `^docker` does so: a list of the variable's replaces what is left out by default.
std::string loopbackWarning(const std::vector<Interface>& all, const Settings& settings,
                            const Interface& chosen);

// The local address that the system would connect to `to` from; without a family if it has no route. Sends
// nothing.
SocketAddress localAddressTowards(const SocketAddress& to);

// All interfaces that fit, each once, with the first of its addresses that is valid beyond its link: the
// devices of the network transport. May be empty.
std::vector<Interface> matchingInterfaces(const std::vector<Interface>& all, const Settings& settings);

}  // namespace xylem::sockets
