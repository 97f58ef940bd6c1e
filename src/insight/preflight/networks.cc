#include "insight/preflight/networks.h"

#include <algorithm>

#include "planner/topology/select_nets.h"

namespace xylem::preflight {
namespace {

Network networkOf(const topology::System& system) {
  Network network = Network::kUnknown;
  for (const topology::NodeId net : system.nodes(topology::NodeType::kNet)) {
    const std::string& name = system.net(net).name;
    if (name.empty()) continue;
    if (!topology::isInterface(name)) return Network::kRdma;
    network = Network::kSockets;
  }
  return network;
}

}  // namespace

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

std::vector<Network> networksOf(const plan::Plan& plan) {
  std::vector<Network> networks;
  for (const auto& host : plan.hostPlans) networks.push_back(networkOf(host->system()));
  return networks;
}

bool networksDoNotConnect(const plan::Plan& plan) {
  if (plan.connections.options.rules != connect::Rules::kNccl || plan.connections.nodes.count() == 1)
    return false;
  const std::vector<Network> networks = networksOf(plan);
  const auto has = [&](Network network) {
    return std::find(networks.begin(), networks.end(), network) != networks.end();
  };
  return has(Network::kSockets) && has(Network::kRdma);
}

}  // namespace xylem::preflight
