#pragma once
// By which network the ranks of each kind of host connect to other hosts: NCCL takes RDMA devices where a host has any, and
// interfaces otherwise. A rank that connects by RDMA and one that listens at a socket wait for each other for ever.
//
//   const std::vector<Network> networks = networksOf(plan);     // by view
//   if (networksDoNotConnect(plan)) ...

#include <cstdint>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::preflight {

// kUnknown: the host has no NICs, or its description does not name them.
enum class Network : std::uint8_t { kUnknown, kSockets, kRdma };
const char* name(Network network);

std::vector<Network> networksOf(const plan::Plan& plan);
// Whether some nodes use RDMA and others sockets. Xylem's own network, for Rules::kXylem, is the same on all hosts.
bool networksDoNotConnect(const plan::Plan& plan);

}  // namespace xylem::preflight
