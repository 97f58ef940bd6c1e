#include "cli/machine_json.h"

#include "plan/json_value.h"

namespace xylem::cli {
namespace {

Json nodeJson(const System& system, NodeId id) {
  Json node = {{"name", system.name(id)}, {"type", name(system.type(id))}};
  switch (system.type(id)) {
    case NodeType::kGpu: {
      const Gpu& gpu = system.gpu(id);
      node.update(Json{
          {"dev", gpu.dev}, {"rank", gpu.rank}, {"sm", gpu.sm}, {"gdr", gpu.gdr}, {"host", gpu.hostDevice}});
      break;
    }
    case NodeType::kPci:
      node["device"] = fmt::format("{:x}", system.pci(id).device);
      break;
    case NodeType::kCpu: {
      const Cpu& cpu = system.cpu(id);
      node.update(Json{{"arch", name(cpu.arch)},
                       {"vendor", name(cpu.vendor)},
                       {"model", cpu.model},
                       {"affinity", cpu.affinity}});
      break;
    }
    case NodeType::kNet: {
      const Net& net = system.net(id);
      node.update(Json{{"device", net.name},
                       {"dev", net.dev},
                       {"guid", fmt::format("{:x}", net.asic)},
                       {"port", net.port},
                       {"bandwidth", number(net.bandwidth)},
                       {"latency", number(net.latency)},
                       {"gdr", net.gdr},
                       {"coll", net.coll},
                       {"maxConnections", net.maxConnections}});
      break;
    }
    case NodeType::kNvs:
    case NodeType::kNic:
      break;
  }
  return node;
}

Json pathJson(const System& system, const PathTable& paths, NodeId from, NodeId to) {
  const Path& path = paths.path(from, to);
  Json via = Json::array();
  for (const LinkId link : paths.links(path)) via.push_back(system.name(system.link(link).to));
  return {{"from", system.name(from)},
          {"to", system.name(to)},
          {"type", name(path.type)},
          {"bandwidth", number(path.bandwidth)},
          {"via", std::move(via)}};
}

}  // namespace

std::string machineJson(const Document& document, const System& system, const PathTable& paths) {
  Json machine = {{"topology", document.file()}};
  for (const NodeType type : kAllNodeTypes) machine["counts"][name(type)] = system.count(type);
  Json& nodes = machine["nodes"] = Json::array();
  for (NodeId id = 0; id < system.nodeCount(); ++id) nodes.push_back(nodeJson(system, id));
  Json& links = machine["links"] = Json::array();
  for (const Link& link : system.links())
    links.push_back({{"from", system.name(link.from)},
                     {"to", system.name(link.to)},
                     {"type", name(link.type)},
                     {"bandwidth", number(link.bandwidth)}});
  Json& list = machine["paths"] = Json::array();
  for (const NodeType fromType : {NodeType::kGpu, NodeType::kNet})
    for (const NodeId from : system.nodes(fromType))
      for (const NodeType toType : {NodeType::kGpu, NodeType::kNet, NodeType::kCpu, NodeType::kNvs})
        for (const NodeId to : system.nodes(toType)) list.push_back(pathJson(system, paths, from, to));
  return machine.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace xylem::cli
