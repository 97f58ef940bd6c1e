#pragma once
// By which network the ranks of each kind of host connect to other hosts: NCCL takes RDMA devices where a host has any, and
// interfaces otherwise. A rank that connects by RDMA and one that listens at a socket wait for each other for ever.
//
//   const std::vector<Network> networks = networksOf(plan);     // by view
//   if (!networksConnect(plan)) ...

#include <cstdint>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::preflight {

// The network of a NIC, which its name tells, or of a host. kUnknown: a NIC without a name, a host without named NICs.
enum class Network : std::uint8_t { kUnknown, kSockets, kRdma };
const char* name(Network network);

Network networkOf(const topology::Net& nic);
std::vector<Network> networksOf(const plan::Plan& plan);
// False if some nodes use RDMA and others sockets. Xylem's own network, for Rules::kXylem, is the same on all hosts.
bool networksConnect(const plan::Plan& plan);

}  // namespace xylem::preflight
