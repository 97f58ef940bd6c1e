#include <algorithm>

#include "planner/plan/plan_json.h"

namespace xylem::plan {
namespace {

// The number of channels for which each GPU's NET is listed.
int localNetChannels(const topology::System& system) {
  return std::max(4, std::min(system.count(topology::NodeType::kNet), 16));
}

Json nodeJson(const topology::System& system, topology::NodeId id, const topology::RankNames& rankOf) {
  Json json = {{"name", system.name(id)}, {"type", topology::name(system.type(id))}};
  switch (system.type(id)) {
    case topology::NodeType::kGpu: {
      const topology::Gpu& gpu = system.gpu(id);
      json.update({{"dev", gpu.dev}, {"rank", rankOf(system, id)}, {"sm", gpu.sm}, {"gdr", gpu.gdr}});
      if (gpu.hostDevice) json["host"] = true;
      break;
    }
    case topology::NodeType::kPci:
      json["device"] = fmt::format("{:x}", system.pci(id).device);
      break;
    case topology::NodeType::kCpu: {
      const topology::Cpu& cpu = system.cpu(id);
      json.update({{"arch", topology::name(cpu.arch)},
                   {"vendor", topology::name(cpu.vendor)},
                   {"model", cpu.model},
                   {"affinity", cpu.affinity}});
      break;
    }
    case topology::NodeType::kNet: {
      const topology::Net& net = system.net(id);
      json.update({{"device", net.name},
                   {"dev", net.dev},
                   {"guid", fmt::format("{:x}", net.asic)},
                   {"port", net.port},
                   {"bandwidth", number(net.bandwidth)},
                   {"latency", number(net.latency)},
                   {"gdr", net.gdr},
                   {"coll", net.coll},
                   {"maxConnections", net.maxConnections}});
      if (system.rules().rails && net.rail >= 0) json["rail"] = net.rail;
      if (system.rules().rails && net.plane >= 0) json["plane"] = net.plane;
      break;
    }
    case topology::NodeType::kNvs:
    case topology::NodeType::kNic:
    case topology::NodeType::kGin:
    case topology::NodeType::kRma:
    case topology::NodeType::kCxb:
    case topology::NodeType::kDev:
      break;
  }
  return json;
}

// value(a, b) for every node `a` of one type and every node `b` of the other, row by row.
template <typename Value>
Json matrix(const topology::System& system, topology::NodeType rows, topology::NodeType columns,
            const Value& value) {
  Json json = Json::array();
  for (topology::NodeId a : system.nodes(rows)) {
    Json row = Json::array();
    for (topology::NodeId b : system.nodes(columns)) row.push_back(value(a, b));
    json.push_back(std::move(row));
  }
  return json;
}

Json p2pJson(const topology::System& system, const paths::Reach& reach, const topology::RankNames& rankOf) {
  const auto pairs = [&](const auto& value) {
    return matrix(system, topology::NodeType::kGpu, topology::NodeType::kGpu, value);
  };
  Json ranks = Json::array();
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) ranks.push_back(rankOf(system, gpu));
  return {
      {"ranks", ranks},
      {"allowed", pairs([&](topology::NodeId a, topology::NodeId b) { return reach.p2p(a, b).yes ? 1 : 0; })},
      {"read", pairs([&](topology::NodeId a, topology::NodeId b) { return reach.p2pRead(a, b) ? 1 : 0; })},
      {"relay", pairs([&](topology::NodeId a, topology::NodeId b) {
         const topology::NodeId relay = reach.p2p(a, b).relay;
         return relay == topology::kNoNode ? -1 : rankOf(system, relay);
       })},
      {"transportP2p",
       pairs([&](topology::NodeId a, topology::NodeId b) { return reach.transportP2p(a, b).yes ? 1 : 0; })},
      {"transportShm",
       pairs([&](topology::NodeId a, topology::NodeId b) { return reach.transportShm(a, b).yes ? 1 : 0; })},
      {"netIsBetter",
       pairs([&](topology::NodeId a, topology::NodeId b) { return reach.netIsBetter(a, b).yes ? 1 : 0; })}};
}

Json gdrJson(const topology::System& system, const paths::Reach& reach, const topology::RankNames& rankOf) {
  const auto pairs = [&](const auto& value) {
    return matrix(system, topology::NodeType::kGpu, topology::NodeType::kNet, value);
  };
  const auto may = [&](paths::Direction direction) {
    return pairs([&, direction](topology::NodeId gpu, topology::NodeId net) {
      return reach.gdr(gpu, net, direction).yes ? 1 : 0;
    });
  };
  Json nets = Json::array();
  for (topology::NodeId net : system.nodes(topology::NodeType::kNet)) nets.push_back(system.name(net));
  Json json = {{"nets", nets},
               {"receive", may(paths::Direction::kReceive)},
               {"send", may(paths::Direction::kSend)},
               {"proxyRank", pairs([&](topology::NodeId gpu, topology::NodeId net) {
                  return rankOf(system, reach.proxyGpu(gpu, net));
                })}};
  // Where GPU Direct RDMA must go over PCI, although the GPU has a chip-to-chip link; only if it must somewhere.
  const auto addOverPci = [&](const char* key, paths::Direction direction) {
    bool any = false;
    Json overPci = pairs([&](topology::NodeId gpu, topology::NodeId net) {
      const bool pci = reach.gdrOverPci(reach.gdr(gpu, net, direction));
      any |= pci;
      return pci ? 1 : 0;
    });
    if (any) json[key] = std::move(overPci);
  };
  addOverPci("receivePci", paths::Direction::kReceive);
  addOverPci("sendPci", paths::Direction::kSend);
  return json;
}

void addNets(Json& json, const topology::System& system, const paths::Locality& locality,
             const paths::Reach& reach, const topology::RankNames& rankOf) {
  json["gdr"] = gdrJson(system, reach, rankOf);
  Json nets = Json::array();
  Json counts = Json::array();
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
    Json row = Json::array();
    for (int c = 0; c < localNetChannels(system); ++c) row.push_back(system.name(locality.localNet(gpu, c)));
    nets.push_back(std::move(row));
    counts.push_back(locality.netsByBandwidth(gpu).count);
  }
  json["localNet"] = std::move(nets);
  Json gpus = Json::array();
  for (topology::NodeId net : system.nodes(topology::NodeType::kNet)) {
    const topology::NodeId gpu = locality.localGpu(net);
    gpus.push_back(gpu == topology::kNoNode ? -1 : rankOf(system, gpu));
  }
  json["localGpu"] = std::move(gpus);
  json["localNetCountByBandwidth"] = std::move(counts);
}

Json graphJson(const search::ChannelGraph& graph, const topology::System& system,
               const topology::RankNames& rankOf) {
  Json channels = Json::array();
  for (int c = 0; c < graph.nChannels; ++c) {
    Json ranks = Json::array();
    // An NVLS channel has a head and no order of the other GPUs.
    const int listed = graph.pattern == search::Pattern::kNvls ? 1 : graph.gpuCount;
    for (int i = 0; i < listed; ++i)
      ranks.push_back(rankOf(system, system.node(topology::NodeType::kGpu, graph.gpu(c, i))));
    Json channel = {{"ranks", std::move(ranks)}};
    if (system.usesNets()) {
      const auto net = [&](int i) {
        return i < 0 ? "NET/0-0" : system.name(system.node(topology::NodeType::kNet, i));
      };
      channel["nets"] = {net(graph.startNet(c)), net(graph.endNet(c))};
    }
    channels.push_back(std::move(channel));
  }
  int exhausted = 0;
  for (const search::SearchAttempt& attempt : graph.attempts) exhausted += attempt.exhausted ? 1 : 0;
  return {{"pattern", search::name(graph.pattern)},
          {"crossNic", graph.crossNic},
          {"nChannels", graph.nChannels},
          {"sameChannels", graph.sameChannels ? 1 : 0},
          {"bwIntra", number(graph.bwIntra)},
          {"bwInter", number(graph.bwInter)},
          {"latencyInter", number(graph.latencyInter)},
          {"typeIntra", paths::name(graph.typeIntra)},
          {"typeInter", paths::name(graph.typeInter)},
          {"nHops", graph.nHops},
          {"searchSteps", graph.searchSteps},
          {"searches", graph.attempts.size()},
          {"timeouts", exhausted},
          {"channels", std::move(channels)}};
}

Json nodeList(const topology::System& system, const topology::RankNames& rankOf) {
  Json nodes = Json::array();
  for (topology::NodeType type : topology::kAllNodeTypes)
    for (topology::NodeId id : system.nodes(type)) nodes.push_back(nodeJson(system, id, rankOf));
  return nodes;
}

Json graphsJson(const HostPlan& host, const search::GraphOptions& offered,
                const topology::RankNames& rankOf) {
  Json json = Json::object();
  for (search::GraphKind kind : search::kAllGraphKinds) {
    const bool collnet =
        kind == search::GraphKind::kCollnetChain || kind == search::GraphKind::kCollnetDirect;
    // NCCL_NVLS_ENABLE=1 takes NVLS for offered.
    const bool unused = kind == search::GraphKind::kNvls && !offered.nvls && host.graphs[kind].nChannels == 0;
    if ((collnet && !offered.collnet) || unused) continue;
    json[search::name(kind)] = graphJson(host.graphs[kind], host.system(), rankOf);
  }
  return json;
}

// Returns whether a node is only shown in NCCL's log.
bool isAbility(const topology::System& system, topology::NodeId node) {
  return system.type(node) == topology::NodeType::kGin || system.type(node) == topology::NodeType::kRma;
}

}  // namespace

Json countsJson(const topology::System& system) {
  Json counts;
  for (topology::NodeType type : topology::kAllNodeTypes) counts[topology::name(type)] = system.count(type);
  return counts;
}

Json nodesJson(const topology::System& system) { return nodeList(system, topology::RankNames()); }

Json linksJson(const topology::System& system) {
  Json links = Json::array();
  for (const topology::Link& link : system.links()) {
    if (system.type(link.from) == topology::NodeType::kDev) continue;  // devices that the job does not use
    if (isAbility(system, link.from) || isAbility(system, link.to)) continue;
    links.push_back({{"from", system.name(link.from)},
                     {"to", system.name(link.to)},
                     {"type", topology::name(link.type)},
                     {"bandwidth", number(link.bandwidth)}});
  }
  return links;
}

Json overridesJson(const topology::System& system, const topology::Document& document) {
  Json list = Json::array();
  for (const topology::LinkOverride& given : system.overrides())
    list.push_back({{"element", document[given.element].name},
                    {"line", document[given.element].line},
                    {"bandwidth", number(given.bandwidth)},
                    {"byRule", number(given.byRule)}});
  return list;
}

Json pathsJson(const topology::System& system, const paths::PathTable& paths) {
  Json list = Json::array();
  for (topology::NodeType from : {topology::NodeType::kGpu, topology::NodeType::kNet}) {
    for (topology::NodeId source : system.nodes(from)) {
      for (topology::NodeType to : {topology::NodeType::kGpu, topology::NodeType::kNet,
                                    topology::NodeType::kCpu, topology::NodeType::kNvs}) {
        for (topology::NodeId target : system.nodes(to)) {
          const paths::Path& path = paths.path(source, target);
          if (path.type == paths::PathType::kDis) continue;
          Json via = Json::array();
          for (topology::LinkId link : paths.links(path)) via.push_back(system.name(system.link(link).to));
          list.push_back({{"from", system.name(source)},
                          {"to", system.name(target)},
                          {"type", paths::name(path.type)},
                          {"bandwidth", number(path.bandwidth)},
                          {"via", std::move(via)}});
        }
      }
    }
  }
  return list;
}

Json hostJson(const HostPlan& host, const Plan& plan, int hostNumber) {
  const topology::System& system = host.system();
  const topology::RankNames rankOf = plan.job().rankNames(hostNumber);
  const paths::Locality locality(system, host.paths.paths);
  const paths::Reach reach(system, host.paths.paths, locality, plan.reach);
  Json json = {{"maxBandwidth", number(host.maxBandwidth)}, {"totalBandwidth", number(host.totalBandwidth)}};
  json["counts"] = countsJson(system);
  json["nodes"] = nodeList(system, rankOf);
  json["links"] = linksJson(system);
  if (!system.overrides().empty()) json["overrides"] = overridesJson(system, *host.description);
  json["paths"] = pathsJson(system, host.paths.paths);
  json["p2p"] = p2pJson(system, reach, rankOf);
  if (system.count(topology::NodeType::kNet) > 0) addNets(json, system, locality, reach, rankOf);
  json["graphs"] = graphsJson(host, plan.offered, rankOf);
  return json;
}

}  // namespace xylem::plan
