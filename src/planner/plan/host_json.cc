#include <algorithm>

#include "planner/plan/plan_json.h"

namespace xylem {
namespace {

// The number of channels for which each GPU's NET is listed.
int localNetChannels(const System& system) { return std::max(4, std::min(system.count(NodeType::kNet), 16)); }

Json nodeJson(const System& system, NodeId id, const RankNames& rankOf) {
  Json json = {{"name", system.name(id)}, {"type", name(system.type(id))}};
  switch (system.type(id)) {
    case NodeType::kGpu: {
      const Gpu& gpu = system.gpu(id);
      json.update({{"dev", gpu.dev}, {"rank", rankOf(system, id)}, {"sm", gpu.sm}, {"gdr", gpu.gdr}});
      if (gpu.hostDevice) json["host"] = true;
      break;
    }
    case NodeType::kPci:
      json["device"] = fmt::format("{:x}", system.pci(id).device);
      break;
    case NodeType::kCpu: {
      const Cpu& cpu = system.cpu(id);
      json.update({{"arch", name(cpu.arch)},
                   {"vendor", name(cpu.vendor)},
                   {"model", cpu.model},
                   {"affinity", cpu.affinity}});
      break;
    }
    case NodeType::kNet: {
      const Net& net = system.net(id);
      json.update({{"device", net.name},
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
  return json;
}

// value(a, b) for every node `a` of one type and every node `b` of the other, row by row.
template <typename Value>
Json matrix(const System& system, NodeType rows, NodeType columns, const Value& value) {
  Json json = Json::array();
  for (NodeId a : system.nodes(rows)) {
    Json row = Json::array();
    for (NodeId b : system.nodes(columns)) row.push_back(value(a, b));
    json.push_back(std::move(row));
  }
  return json;
}

Json p2pJson(const System& system, const Reach& reach, const RankNames& rankOf) {
  const auto pairs = [&](const auto& value) { return matrix(system, NodeType::kGpu, NodeType::kGpu, value); };
  Json ranks = Json::array();
  for (NodeId gpu : system.nodes(NodeType::kGpu)) ranks.push_back(rankOf(system, gpu));
  return {{"ranks", ranks},
          {"allowed", pairs([&](NodeId a, NodeId b) { return reach.p2p(a, b).yes ? 1 : 0; })},
          {"read", pairs([&](NodeId a, NodeId b) { return reach.p2pRead(a, b) ? 1 : 0; })},
          {"relay", pairs([&](NodeId a, NodeId b) {
             const NodeId relay = reach.p2p(a, b).relay;
             return relay == kNoNode ? -1 : rankOf(system, relay);
           })},
          {"transportP2p", pairs([&](NodeId a, NodeId b) { return reach.transportP2p(a, b).yes ? 1 : 0; })},
          {"transportShm", pairs([&](NodeId a, NodeId b) { return reach.transportShm(a, b).yes ? 1 : 0; })},
          {"netIsBetter", pairs([&](NodeId a, NodeId b) { return reach.netIsBetter(a, b).yes ? 1 : 0; })}};
}

Json gdrJson(const System& system, const Reach& reach, const RankNames& rankOf) {
  const auto pairs = [&](const auto& value) { return matrix(system, NodeType::kGpu, NodeType::kNet, value); };
  const auto may = [&](Direction direction) {
    return pairs(
        [&, direction](NodeId gpu, NodeId net) { return reach.gdr(gpu, net, direction).yes ? 1 : 0; });
  };
  Json nets = Json::array();
  for (NodeId net : system.nodes(NodeType::kNet)) nets.push_back(system.name(net));
  return {
      {"nets", nets},
      {"receive", may(Direction::kReceive)},
      {"send", may(Direction::kSend)},
      {"proxyRank", pairs([&](NodeId gpu, NodeId net) { return rankOf(system, reach.proxyGpu(gpu, net)); })}};
}

void addNets(Json& json, const System& system, const Locality& locality, const Reach& reach,
             const RankNames& rankOf) {
  json["gdr"] = gdrJson(system, reach, rankOf);
  Json nets = Json::array();
  Json counts = Json::array();
  for (NodeId gpu : system.nodes(NodeType::kGpu)) {
    Json row = Json::array();
    for (int c = 0; c < localNetChannels(system); ++c) row.push_back(system.name(locality.localNet(gpu, c)));
    nets.push_back(std::move(row));
    counts.push_back(locality.localNetCountByBandwidth(gpu));
  }
  json["localNet"] = std::move(nets);
  Json gpus = Json::array();
  for (NodeId net : system.nodes(NodeType::kNet)) {
    const NodeId gpu = locality.localGpu(net);
    gpus.push_back(gpu == kNoNode ? -1 : rankOf(system, gpu));
  }
  json["localGpu"] = std::move(gpus);
  json["localNetCountByBandwidth"] = std::move(counts);
}

Json graphJson(const ChannelGraph& graph, const System& system, const RankNames& rankOf) {
  Json channels = Json::array();
  for (int c = 0; c < graph.nChannels; ++c) {
    Json ranks = Json::array();
    // An NVLS channel has a head and no order of the other GPUs.
    const int listed = graph.pattern == Pattern::kNvls ? 1 : graph.gpuCount;
    for (int i = 0; i < listed; ++i)
      ranks.push_back(rankOf(system, system.node(NodeType::kGpu, graph.gpu(c, i))));
    Json channel = {{"ranks", std::move(ranks)}};
    if (system.count(NodeType::kNet) > 0) {
      const auto net = [&](int i) { return i < 0 ? "NET/0-0" : system.name(system.node(NodeType::kNet, i)); };
      channel["nets"] = {net(graph.startNet(c)), net(graph.endNet(c))};
    }
    channels.push_back(std::move(channel));
  }
  int exhausted = 0;
  for (const SearchAttempt& attempt : graph.attempts) exhausted += attempt.exhausted ? 1 : 0;
  return {{"pattern", name(graph.pattern)},
          {"crossNic", graph.crossNic},
          {"nChannels", graph.nChannels},
          {"sameChannels", graph.sameChannels ? 1 : 0},
          {"bwIntra", number(graph.bwIntra)},
          {"bwInter", number(graph.bwInter)},
          {"latencyInter", number(graph.latencyInter)},
          {"typeIntra", name(graph.typeIntra)},
          {"typeInter", name(graph.typeInter)},
          {"nHops", graph.nHops},
          {"searchSteps", graph.searchSteps},
          {"searches", graph.attempts.size()},
          {"timeouts", exhausted},
          {"channels", std::move(channels)}};
}

Json nodeList(const System& system, const RankNames& rankOf) {
  Json nodes = Json::array();
  for (NodeId id = 0; id < system.nodeCount(); ++id) nodes.push_back(nodeJson(system, id, rankOf));
  return nodes;
}

Json graphsJson(const HostPlan& host, const GraphOptions& offered, const RankNames& rankOf) {
  Json json = Json::object();
  for (GraphKind kind : kAllGraphKinds) {
    const bool collnet = kind == GraphKind::kCollnetChain || kind == GraphKind::kCollnetDirect;
    if ((collnet && !offered.collnet) || (kind == GraphKind::kNvls && !offered.nvls)) continue;
    json[name(kind)] = graphJson(host.graphs[kind], host.system(), rankOf);
  }
  return json;
}

}  // namespace

Json countsJson(const System& system) {
  Json counts;
  for (NodeType type : kAllNodeTypes) counts[name(type)] = system.count(type);
  return counts;
}

Json nodesJson(const System& system) { return nodeList(system, RankNames()); }

Json linksJson(const System& system) {
  Json links = Json::array();
  for (const Link& link : system.links())
    links.push_back({{"from", system.name(link.from)},
                     {"to", system.name(link.to)},
                     {"type", name(link.type)},
                     {"bandwidth", number(link.bandwidth)}});
  return links;
}

Json pathsJson(const System& system, const PathTable& paths) {
  Json list = Json::array();
  for (NodeType from : {NodeType::kGpu, NodeType::kNet}) {
    for (NodeId source : system.nodes(from)) {
      for (NodeType to : {NodeType::kGpu, NodeType::kNet, NodeType::kCpu, NodeType::kNvs}) {
        for (NodeId target : system.nodes(to)) {
          const Path& path = paths.path(source, target);
          if (path.type == PathType::kDis) continue;
          Json via = Json::array();
          for (LinkId link : paths.links(path)) via.push_back(system.name(system.link(link).to));
          list.push_back({{"from", system.name(source)},
                          {"to", system.name(target)},
                          {"type", name(path.type)},
                          {"bandwidth", number(path.bandwidth)},
                          {"via", std::move(via)}});
        }
      }
    }
  }
  return list;
}

Json hostJson(const HostPlan& host, const Plan& plan, int hostNumber) {
  const System& system = host.system();
  const RankNames rankOf = plan.job().rankNames(hostNumber);
  const Locality locality(system, host.paths.paths);
  const Reach reach(system, host.paths.paths, locality, plan.reach);
  Json json = {{"maxBandwidth", number(host.maxBandwidth)}, {"totalBandwidth", number(host.totalBandwidth)}};
  json["counts"] = countsJson(system);
  json["nodes"] = nodeList(system, rankOf);
  json["links"] = linksJson(system);
  json["paths"] = pathsJson(system, host.paths.paths);
  json["p2p"] = p2pJson(system, reach, rankOf);
  if (system.count(NodeType::kNet) > 0) addNets(json, system, locality, reach, rankOf);
  json["graphs"] = graphsJson(host, plan.offered, rankOf);
  return json;
}

}  // namespace xylem
