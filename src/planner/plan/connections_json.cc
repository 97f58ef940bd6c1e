#include "planner/connect/collnet_nvls.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/p2p.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/plan/plan_json.h"

namespace xylem::plan {
namespace {

// The sizes of NCCL's lists for CollNetDirect: heads, and peers above or below a rank.
constexpr std::size_t kCollnetHeads = 8;
constexpr std::size_t kCollnetPeers = 7;

Json graphJson(const connect::MergedGraph& graph) {
  return {{"nChannels", graph.nChannels},
          {"sameChannels", graph.sameChannels ? 1 : 0},
          {"bwIntra", number(graph.bwIntra)},
          {"bwInter", number(graph.bwInter)},
          {"typeIntra", paths::name(graph.typeIntra)},
          {"typeInter", paths::name(graph.typeInter)},
          {"crossNic", graph.crossNic}};
}

void addTrees(Json& json, const connect::Connections& c, int rank) {
  Json up = Json::array();
  Json down = Json::array();
  for (int channel = 0; channel < c.of(rank).channels.total(); ++channel) {
    const connect::TreeLinks links = connect::treeOf(c, rank, channel);
    up.push_back(links.up);
    down.push_back(links.down);
  }
  json["treeUp"] = std::move(up);
  json["treeDown"] = std::move(down);
  json["treeDepth"] = connect::treeDepth(c);
}

Json netJson(const topology::System& system, const connect::NetEnd& end) {
  if (end.net == topology::kNoNode) return {{"refused", true}};
  return {{"net", system.name(end.net)}, {"proxy", end.proxy}};
}

Json ringNetJson(const Plan& plan, const connect::NetChoice& choice, int rank, int channel,
                 paths::Direction direction) {
  const connect::RingNeighbours around = connect::ringNeighbours(plan.connections, rank, channel);
  const int peer = direction == paths::Direction::kSend ? around.next : around.previous;
  const auto end = choice.ringNic(rank, channel, peer, direction);
  if (!end) return nullptr;
  Json json = netJson(plan.hostOf(rank).system(), *end);
  if (end->net != topology::kNoNode) json["gdr"] = end->gdr ? 1 : 0;
  if (end->gdrOverPci) json["gdrPci"] = 1;
  return json;
}

void addNets(Json& json, const Plan& plan, const connect::NetChoice& choice, int rank) {
  const connect::Connections& c = plan.connections;
  for (paths::Direction direction : {paths::Direction::kSend, paths::Direction::kReceive}) {
    Json ends = Json::array();
    for (int channel = 0; channel < c.of(rank).channels.total(); ++channel)
      ends.push_back(ringNetJson(plan, choice, rank, channel, direction));
    json[direction == paths::Direction::kSend ? "ringNetSend" : "ringNetRecv"] = std::move(ends);
  }
  const topology::System& system = plan.hostOf(rank).system();
  if (system.count(topology::NodeType::kNet) == 0) return;
  // The NICs for sends to every rank of the next host.
  const int next = (c.job.hostOf(rank) + 1) % c.job.hosts();
  Json ends = Json::array();
  for (int local = 0; local < c.job.shapeOf(next).ranks(); ++local)
    ends.push_back(netJson(system, choice.p2pEnd(rank, c.job.rank(next, local), 0)));
  json["p2pNet"] = std::move(ends);
}

// NCCL's lists have a fixed size; -1 fills unused entries.
Json paddedJson(std::vector<int> list, std::size_t size) {
  list.resize(size, -1);
  return list;
}

void addCollnet(Json& json, const connect::Connections& c, int rank) {
  Json up = Json::array();
  Json down = Json::array();
  for (int channel = 0; channel < c.of(rank).channels.total(); ++channel) {
    const connect::CollnetChain chain = connect::collnetChainOf(c, rank, channel);
    up.push_back(chain.up);
    down.push_back(chain.down);
  }
  json["collnetChainUp"] = std::move(up);
  json["collnetChainDown"] = std::move(down);
  // In NCCL's memory the peers below follow those above: peers above that exceed their list lie in the one
  // below.
  connect::CollnetDirect direct = connect::collnetDirectOf(c, rank);
  for (std::size_t i = kCollnetPeers; i < direct.up.size(); ++i)
    direct.down.insert(direct.down.begin() + static_cast<std::ptrdiff_t>(i - kCollnetPeers), direct.up[i]);
  json["collnetDirect"] = {{"nHeads", direct.heads.size()},
                           {"headRank", direct.headRank},
                           {"out", direct.out},
                           {"shift", direct.shift},
                           {"depth", direct.depth},
                           {"heads", paddedJson(direct.heads, kCollnetHeads)},
                           {"up", paddedJson(direct.up, kCollnetPeers)},
                           {"down", paddedJson(direct.down, kCollnetPeers)}};
}

void addNvls(Json& json, const connect::Connections& c, int rank) {
  const connect::NvlsLinks links = connect::nvlsOf(c, rank);
  Json nvls = {
      {"nHeads", c.nvlsHeads}, {"headRank", links.headRank}, {"down", links.down}, {"out", links.out}};
  nvls["treeUp"] = {links.trees[0].up, links.trees[1].up};
  nvls["treeDown"] = {links.trees[0].down, links.trees[1].down};
  json["nvls"] = std::move(nvls);
}

Json scheduleJson(const connect::Connections& c, int rank) {
  Json rounds = Json::array();
  for (const connect::P2pRound& round : connect::p2pSchedule(c, rank))
    rounds.push_back({round.sendTo, round.receiveFrom});
  return rounds;
}

Json rankJson(const Plan& plan, const connect::NetChoice& choice, int rank) {
  const connect::Connections& c = plan.connections;
  const auto at = static_cast<std::size_t>(rank);
  Json json = {{"rank", rank}, {"node", c.nodes.ofRank[at]}, {"localRank", c.nodes.localRank[at]}};
  addTrees(json, c, rank);
  Json transports = Json::array();
  for (int channel = 0; channel < c.of(rank).channels.total(); ++channel)
    transports.push_back(connect::name(
        choice.transport(rank, connect::ringNeighbours(c, rank, channel).next, paths::Direction::kSend)));
  json["ringTransport"] = std::move(transports);
  if (c.nodes.count() > 1) addNets(json, plan, choice, rank);
  if (c.collnet) addCollnet(json, c, rank);
  if (c.nvlsHeads > 0) addNvls(json, c, rank);
  if (plan.hostsListed && c.job.localOf(rank) == 0) json["p2pSchedule"] = scheduleJson(c, rank);
  return json;
}

}  // namespace

Json mergedJson(const connect::Connections& connections) {
  Json json = Json::object();
  for (search::GraphKind kind : search::kAllGraphKinds)
    json[search::name(kind)] = graphJson(connections.merged[kind]);
  return json;
}

Json connectionsJson(const Plan& plan, int rank) {
  const connect::Connections& c = plan.connections;
  const connect::ViewDecisions& mine = c.of(std::max(rank, 0));
  Json json = {{"nChannels", mine.channels.total()},
               {"collChannels", mine.channels.collective},
               {"nvlsChannels", mine.nvlsChannels},
               {"p2pChannels", mine.p2pChannels},
               {"p2pChannelsPerPeer", mine.p2pChannelsPerPeer}};
  if (const int size = connect::p2pGroupSize(c); size > 0) json["p2pScheduleGroupSize"] = size;
  if (c.nvlsChunkBytes > 0) {
    json["nvlsChunkSize"] = c.nvlsChunkBytes;
    json["nvlsTreeMaxChunkSize"] = c.nvlsTreeChunkBytes;
  }
  const connect::NetChoice choice(c, plan.reach);
  if (rank >= 0) {
    json["ranks"] = Json::array({rankJson(plan, choice, rank)});
    return json;
  }
  json["rings"] = Json::array();
  for (int channel = 0; channel < c.nChannels(); ++channel)
    json["rings"].push_back(connect::ringOf(c, channel));
  json["ranks"] = Json::array();
  for (int r = 0; r < c.job.ranks(); ++r) json["ranks"].push_back(rankJson(plan, choice, r));
  return json;
}

}  // namespace xylem::plan
