#include "insight/preflight/networks.h"

#include <algorithm>

#include "planner/topology/select_nets.h"

namespace xylem::preflight {
const char* name(Network network) {
  switch (network) {
    case Network::kUnknown:
      return "unknown";
    case Network::kSockets:
      return "sockets";
    case Network::kRdma:
      return "RDMA";
  }
  return "";
}

Network networkOf(const topology::Net& nic) {
  if (nic.name.empty()) return Network::kUnknown;
  return topology::isInterface(nic.name) ? Network::kSockets : Network::kRdma;
}

std::vector<Network> networksOf(const plan::Plan& plan) {
  std::vector<Network> networks;
  for (const auto& host : plan.hostPlans) {
    Network network = Network::kUnknown;
    // A host with both takes RDMA.
    for (const topology::NodeId nic : host->system().nodes(topology::NodeType::kNet))
      network = std::max(network, networkOf(host->system().net(nic)));
    networks.push_back(network);
  }
  return networks;
}

bool networksConnect(const plan::Plan& plan) {
  if (plan.connections.options.rules != connect::Rules::kNccl || plan.connections.nodes.count() == 1)
    return true;
  const std::vector<Network> networks = networksOf(plan);
  const auto has = [&](Network network) {
    return std::find(networks.begin(), networks.end(), network) != networks.end();
  };
  return !has(Network::kSockets) || !has(Network::kRdma);
}

}  // namespace xylem::preflight
