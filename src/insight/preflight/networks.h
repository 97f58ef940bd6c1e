#pragma once
// By which network the ranks of each kind of host connect to other hosts: NCCL takes RDMA devices where a host has any, and
// interfaces otherwise. A rank that connects by RDMA and one that listens at a socket wait for each other for ever.
//
//   const std::vector<Network> networks = networksOf(plan);     // by view
//   if (const auto apart = networksApart(plan)) ... apart->first, apart->second ...

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::preflight {

// The network of a NIC, or of a host. A NIC's name tells interfaces from RDMA devices, and the class of its PCI device
// InfiniBand (0x0207) from Ethernet (0x0200, also RoCE and EFA).
enum class Network : std::uint8_t {
  kUnknown,  // a NIC without a name, a host without named NICs
  kSockets,
  kRdma,  // of which kind is not known, or a host has several
  kEthernet,
  kInfiniBand,
};
const char* name(Network network);

Network networkOf(const plan::HostPlan& host, topology::NodeId nic);
std::vector<Network> networksOf(const plan::Plan& plan);
// Two networks of the job that do not connect to each other: RDMA and sockets, or else InfiniBand and Ethernet. Nothing if
// every host can connect to every other one; for Rules::kXylem all hosts have Xylem's own network.
std::optional<std::pair<Network, Network>> networksApart(const plan::Plan& plan);

}  // namespace xylem::preflight
