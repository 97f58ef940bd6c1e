#include "insight/preflight/networks.h"

#include <algorithm>

#include "planner/topology/select_nets.h"

namespace xylem::preflight {
namespace {

// The class of the PCI device that holds an element; empty if none does.
std::string classOfPci(const topology::Document& document, topology::ElementId element) {
  for (; element != topology::kNoElement; element = document[element].parent)
    if (document[element].name == "pci") {
      const std::string* const code = document.attribute(element, "class");
      return code == nullptr ? "" : *code;
    }
  return "";
}

// The network of a host that has NICs of both: RDMA devices come before interfaces.
Network together(Network a, Network b) {
  if (a == b) return a;
  return std::min(a, b) < Network::kRdma ? std::max(a, b) : Network::kRdma;
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
    case Network::kEthernet:
      return "RDMA over Ethernet";
    case Network::kInfiniBand:
      return "InfiniBand";
  }
  return "";
}

Network networkOf(const plan::HostPlan& host, topology::NodeId nic) {
  const topology::Net& device = host.system().net(nic);
  if (device.name.empty()) return Network::kUnknown;
  if (topology::isInterface(device.name, device.port)) return Network::kSockets;
  const std::string code = classOfPci(*host.description, host.system()[nic].element);
  if (code.starts_with("0x0207")) return Network::kInfiniBand;
  return code.starts_with("0x0200") ? Network::kEthernet : Network::kRdma;
}

std::vector<Network> networksOf(const plan::Plan& plan) {
  std::vector<Network> networks;
  for (const auto& host : plan.hostPlans) {
    Network network = Network::kUnknown;
    for (const topology::NodeId nic : host->system().nodes(topology::NodeType::kNet))
      network = together(network, networkOf(*host, nic));
    networks.push_back(network);
  }
  return networks;
}

std::optional<std::pair<Network, Network>> networksApart(const plan::Plan& plan) {
  if (plan.connections.options.rules != connect::Rules::kNccl || plan.connections.nodes.count() == 1)
    return std::nullopt;
  const std::vector<Network> networks = networksOf(plan);
  const auto has = [&](Network network) {
    return std::find(networks.begin(), networks.end(), network) != networks.end();
  };
  const Network highest = *std::max_element(networks.begin(), networks.end());
  if (has(Network::kSockets) && highest >= Network::kRdma)
    return std::pair(Network::kRdma, Network::kSockets);
  if (has(Network::kInfiniBand) && has(Network::kEthernet))
    return std::pair(Network::kInfiniBand, Network::kEthernet);
  return std::nullopt;
}

}  // namespace xylem::preflight
