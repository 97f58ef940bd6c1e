#include "plan/plan_json.h"

#include "plan/host_json.h"
#include "plan/json_value.h"

namespace xylem {
namespace {

Json mergedJson(const MergedGraph& graph) {
  return {{"nChannels", graph.nChannels},       {"sameChannels", graph.sameChannels ? 1 : 0},
          {"bwIntra", number(graph.bwIntra)},   {"bwInter", number(graph.bwInter)},
          {"typeIntra", name(graph.typeIntra)}, {"typeInter", name(graph.typeInter)},
          {"crossNic", graph.crossNic}};
}

// The NET a rank uses on a channel towards `peer`; null if it reaches the peer without one. Only the ends of
// a node's chain are listed: inside it a NET comes in between only where a graph file joins GPUs that are
// each nearer to a NIC than to each other.
Json netEndJson(const Plan& plan, const Locality& locality, int rank, int peer, int channel,
                Direction direction) {
  const std::vector<int>& node = plan.connections.nodes.ofRank;
  if (node[static_cast<std::size_t>(rank)] == node[static_cast<std::size_t>(peer)]) return nullptr;
  const HostPlan& host = plan.hostOf(rank);
  const System& system = host.system();
  const Reach reach(system, host.paths.paths, locality, plan.reach);
  const int offset = rank / plan.job.ranksPerHost * plan.job.ranksPerHost;
  const NodeId gpu = system.gpuOfRank(rank - offset);
  const bool sameHost = peer >= offset && peer < offset + plan.job.ranksPerHost;
  const NodeId peerGpu = sameHost ? system.gpuOfRank(peer - offset) : kNoNode;
  if (peerGpu != kNoNode) {
    const NodeId from = direction == Direction::kSend ? gpu : peerGpu;
    const NodeId to = direction == Direction::kSend ? peerGpu : gpu;
    if (reach.transportP2p(from, to).yes || reach.transportShm(from, to).yes) return nullptr;
  }
  const auto index =
      ringNet(plan.job.view(rank), plan.connections.ring.nChannels, channel, system.position(gpu));
  if (!index || *index < 0) return {{"refused", true}};
  const NodeId net = system.node(NodeType::kNet, *index);
  const NodeId proxy = reach.proxyGpu(gpu, net);
  return {{"net", system.name(net)},
          {"proxy", system.gpu(proxy).rank + offset},
          {"gdr", reach.gdr(gpu, net, direction).yes ? 1 : 0}};
}

Json ranksJson(const Plan& plan) {
  const Connections& c = plan.connections;
  Json ranks = Json::array();
  for (int rank = 0; rank < plan.job.ranks(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    ranks.push_back({{"rank", rank}, {"node", c.nodes.ofRank[at]}, {"localRank", c.nodes.localRank[at]}});
    if (c.nodes.count() > 1) {
      ranks.back()["ringNetSend"] = Json::array();
      ranks.back()["ringNetRecv"] = Json::array();
    }
  }
  if (c.nodes.count() == 1) return ranks;
  std::vector<Locality> localities;
  for (const auto& host : plan.hostPlans) localities.emplace_back(host->system(), host->paths.paths);
  for (int channel = 0; channel < c.nChannels; ++channel) {
    const auto& ring = c.rings[static_cast<std::size_t>(channel)];
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int rank = ring[i];
      const int next = ring[(i + 1) % ring.size()];
      const int previous = ring[(i + ring.size() - 1) % ring.size()];
      const int view = plan.job.viewOfLocalRank[static_cast<std::size_t>(rank % plan.job.ranksPerHost)];
      const Locality& locality = localities[static_cast<std::size_t>(view)];
      Json& json = ranks[static_cast<std::size_t>(rank)];
      json["ringNetSend"].push_back(netEndJson(plan, locality, rank, next, channel, Direction::kSend));
      json["ringNetRecv"].push_back(netEndJson(plan, locality, rank, previous, channel, Direction::kReceive));
    }
  }
  return ranks;
}

}  // namespace

std::string planToJson(const Plan& plan) {
  Json json;
  json["format"] = "xylem-plan-1";
  Json settings = Json::object();
  for (const auto& [name, value] : plan.settings) settings[name] = value;
  json["input"] = {{"topology", plan.topology}, {"hosts", plan.hosts}, {"nvls", false},
                   {"collnet", false},          {"fuse", false},       {"settings", settings}};
  const Connections& c = plan.connections;
  json["job"] = {{"ranks", plan.job.ranks()},
                 {"nodes", c.nodes.count()},
                 {"maxLocalRanks", c.nodes.maxLocalRanks},
                 {"minComputeCapability", plan.lowestSm},
                 {"maxComputeCapability", plan.highestSm},
                 {"allNvlink", plan.allNvlink},
                 {"nvls", false},
                 {"collnet", false},
                 {"collnetHeads", 0}};
  json["host"] = hostJson(plan.hostOf(0), plan.reach);
  json["merged"] = {{"ring", mergedJson(c.ring)},
                    {"tree", mergedJson(c.tree)},
                    {"collnetChain", mergedJson({})},
                    {"collnetDirect", mergedJson({})},
                    {"nvls", mergedJson({})}};
  json["connections"] = {{"nChannels", c.nChannels},
                         {"collChannels", c.collChannels},
                         {"nvlsChannels", 0},
                         {"rings", c.rings},
                         {"ranks", ranksJson(plan)}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace xylem
