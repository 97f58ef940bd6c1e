// why nic: which NICs a GPU uses, through whose proxy, and why some NICs are not used at all.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/plan/host_parts.h"

namespace xylem::why {
namespace {

const char* because(connect::NetReason reason) {
  switch (reason) {
    case connect::NetReason::kNone:
      return "no NIC within reach";
    case connect::NetReason::kGraph:
      return "the ring graph's channel ends there";
    case connect::NetReason::kOwn:
      return "its own nearest NIC";
    case connect::NetReason::kLikePeer:
      return "the NIC that the peer's number would use here (NCCL_CROSS_NIC=0)";
    case connect::NetReason::kPeersGpu:
      return "the NIC that the peer's number would use here, by the GPU beside it (NCCL_P2P_PXN_LEVEL=2)";
    case connect::NetReason::kPeersPath:
      return "the NIC that the peer's number would use here, near enough (NCCL_P2P_PXN_LEVEL=1)";
  }
  return "";
}

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> namesOf(const HostRules& rules, const std::vector<topology::NodeId>& nodes) {
  std::vector<std::string> names;
  for (topology::NodeId node : nodes) names.push_back(rules.name(node));
  return names;
}

AnswerStep nearestStep(const HostRules& rules, topology::NodeId gpu,
                       const std::vector<topology::NodeId>& near) {
  const paths::Path& path = rules.paths().path(gpu, near.front());
  AnswerStep step;
  step.rule = "nearest-nics";
  step.text =
      fmt::format("{} {} nearest: {} over {}", listed(namesOf(rules, near)), near.size() == 1 ? "is" : "are",
                  bandwidthText(path.bandwidth), paths::name(path.type));
  step.inputs = {{"bandwidth", bandwidthText(path.bandwidth)},
                 {"path", typeText(path.type, rules.system().rules())}};
  step.threshold = "most bandwidth, then best path type; the number of links does not count";
  for (topology::NodeId net : near) step.sources.push_back(sourceOf(rules.host(), net));
  return step;
}

// How the GPU picks one of several equally near NICs, channel by channel.
AnswerStep pickStep(const HostRules& rules, topology::NodeId gpu) {
  const paths::NetPick pick = rules.locality().pickNet(gpu, 0);
  AnswerStep step;
  step.rule = "nic-of-device";
  step.inputs = {{"device", std::to_string(pick.dev)},
                 {"nearest NICs", std::to_string(pick.near)},
                 {"GPUs nearest to the first of them", std::to_string(pick.sharing)}};
  const int place = pick.start % pick.near;
  step.text =
      pick.near == 1
          ? "there is no choice among the nearest"
          : fmt::format("of the {} nearest it starts with number {}: device {}{} modulo {}", pick.near, place,
                        pick.dev, pick.reversed ? " with its bits reversed" : "", pick.near);
  if (pick.period > 1)
    step.text += fmt::format("; channel by channel it moves on over {} of them, as {} GPU{} share{} the {}",
                             pick.period, pick.sharing, pick.sharing == 1 ? "" : "s",
                             pick.sharing == 1 ? "s" : "", pick.near);
  step.threshold = "device number (bits reversed if the NICs are a power of two) plus the channel";
  step.sources.push_back(sourceOf(rules.host(), gpu));
  return step;
}

// A row for each ring that enters or leaves the host at this rank.
AnswerTable ringTable(const QuestionContext& context, const HostRules& rules, int rank) {
  const connect::Connections& c = context.plan.connections;
  const connect::NetChoice choice(c, context.plan.reach);
  AnswerTable table{"NICs in the rings", {"channel", "direction", "peer", "NIC", "proxy", "GDR"}, {}};
  for (int channel = 0; channel < c.of(rank).channels.total(); ++channel) {
    const connect::RingNeighbours ring = connect::ringNeighbours(c, rank, channel);
    for (paths::Direction direction : {paths::Direction::kReceive, paths::Direction::kSend}) {
      const int peer = direction == paths::Direction::kSend ? ring.next : ring.previous;
      const auto end = choice.ringEnd(rank, channel, peer, direction);
      if (!end) continue;
      table.rows.push_back(
          {std::to_string(channel), direction == paths::Direction::kSend ? "send" : "receive", gpuName(peer),
           end->net == topology::kNoNode ? "none" : rules.name(end->net),
           end->proxy < 0 ? "-" : fmt::format("rank {}", end->proxy), end->gdr ? "yes" : "no"});
    }
  }
  return table;
}

// `peer`, or, if that is -1, all ranks of another host.
std::vector<int> peersOf(const plan::Plan& plan, int rank, int peer) {
  if (peer >= 0) return {peer};
  const int host = plan.job().hostOf(rank) == 0 ? 1 : 0;
  std::vector<int> peers;
  for (int local = 0; local < plan.job().shapeOf(host).ranks(); ++local)
    peers.push_back(plan.job().rank(host, local));
  return peers;
}

// A row for each peer that the rank sends to over the network.
AnswerTable p2pTable(const QuestionContext& context, const HostRules& rules, int rank, int peer) {
  const connect::NetChoice choice(context.plan.connections, context.plan.reach);
  AnswerTable table{
      "NICs of sends to ranks of another host, channel 0", {"to", "NIC", "proxy", "GDR", "because"}, {}};
  for (int other : peersOf(context.plan, rank, peer)) {
    if (choice.transport(rank, other, paths::Direction::kSend) != connect::TransportKind::kNet) continue;
    const connect::NetEnd end = choice.p2pEnd(rank, other, 0);
    table.rows.push_back({gpuName(other), end.net == topology::kNoNode ? "none" : rules.name(end.net),
                          end.proxy < 0 ? "-" : fmt::format("rank {}", end.proxy), end.gdr ? "yes" : "no",
                          because(end.reason)});
  }
  return table;
}

// A NET of a host, as the parts of the host in its plan have it.
struct HostNet {
  std::vector<std::string> owners;  // GPUs among whose nearest NICs it is
  bool isWithin = false;            // of the limit of some part's rings
  int rings = 0;
};
// By the NETs' numbers.
std::map<int, HostNet> netsOfHost(const plan::Plan& plan, int rank) {
  std::map<int, HostNet> nets;
  for (const int one : plan::ranksOfParts(plan, rank)) {
    const HostRules rules(plan, one);
    const topology::System& system = rules.system();
    for (const topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
      for (const topology::NodeId net : rules.locality().localNets(gpu))
        nets[system.net(net).dev].owners.push_back(rules.name(gpu));
      for (const topology::NodeId net : system.nodes(topology::NodeType::kNet))
        if (rules.paths().path(gpu, net).type <= rules.host().ring().typeInter)
          nets[system.net(net).dev].isWithin = true;
    }
  }
  for (const auto& [dev, rings] : plan::ringsByNet(plan, rank)) nets[dev].rings = rings;
  return nets;
}

// Why no ring starts or ends at a NET.
std::string whyIdle(const HostRules& rules, const HostNet& net) {
  const paths::PathType limit = rules.host().ring().typeInter;
  if (!net.isWithin) return fmt::format("farther than {} from every GPU of the job", paths::name(limit));
  return net.owners.empty() ? "no GPU of the job has it nearest" : "no channel was left for it";
}

// A row for each NIC of the host: the GPUs whose own NIC it is, and its use by rings.
AnswerTable allNics(const HostRules& rules, topology::NodeId gpu, std::map<int, HostNet> nets) {
  AnswerTable table{
      "NICs of the host",
      {"NIC", "name", "from the GPU", "GB/s", "own NIC of", "ring channels", "line", "not used because"},
      {}};
  for (topology::NodeId net : rules.system().nodes(topology::NodeType::kNet)) {
    const paths::Path& path = rules.paths().path(gpu, net);
    const HostNet& all = nets[rules.system().net(net).dev];
    const std::string& name = rules.system().net(net).name;
    table.rows.push_back({rules.name(net), name.empty() ? "-" : name, paths::name(path.type),
                          fmt::format("{:.1f}", path.bandwidth), listed(all.owners),
                          std::to_string(all.rings), std::to_string(sourceOf(rules.host(), net).line),
                          all.rings == 0 ? whyIdle(rules, all) : ""});
  }
  return table;
}

AnswerStep unusedStep(const HostRules& rules, const std::map<int, int>& used) {
  const search::ChannelGraph& ring = rules.host().ring();
  std::vector<std::string> idle;
  AnswerStep step;
  step.rule = "nics-in-rings";
  for (topology::NodeId net : rules.system().nodes(topology::NodeType::kNet)) {
    if (used.contains(rules.system().net(net).dev)) continue;
    idle.push_back(rules.name(net));
    step.sources.push_back(sourceOf(rules.host(), net));
  }
  const int all = rules.system().count(topology::NodeType::kNet);
  step.yes = idle.empty();
  step.inputs = {{"NICs", std::to_string(all)},
                 {"used by rings", std::to_string(all - static_cast<int>(idle.size()))},
                 {"ring channels of the host", std::to_string(ring.nChannels)},
                 {"NICs may be as far as", typeText(ring.typeInter, rules.system().rules())}};
  step.text = idle.empty() ? "the rings use every NIC of the host"
                           : fmt::format(
                                 "the rings do not use {}: the search found {} channel{} with NICs "
                                 "at most {} from their GPUs (ask `channels ring`)",
                                 listed(idle), ring.nChannels, ring.nChannels == 1 ? "" : "s",
                                 paths::name(ring.typeInter));
  step.threshold = "one NIC where a channel enters the host and one where it leaves";
  step.variable = Setting::kCrossNic;
  return step;
}

std::string nicSummary(const plan::Plan& plan) {
  const HostRules rules(plan, 0);
  return fmt::format("{} of {} NICs in rings; {}", plan::ringsByNet(plan, 0).size(),
                     rules.system().count(topology::NodeType::kNet), channelSummary(plan));
}

}  // namespace

Answer whyNic(const QuestionContext& context, int rank, int peer) {
  const HostRules rules(context.plan, rank);
  const topology::NodeId gpu = context.plan.job().gpuOf(rank);
  Answer answer;
  answer.question = fmt::format("nic {}", gpuName(rank));
  if (peer >= 0) answer.question += " " + gpuName(peer);
  const std::vector<topology::NodeId> near = rules.locality().nearest(gpu, topology::NodeType::kNet);
  if (near.empty()) {
    answer.headline = fmt::format("{} uses no NIC: its host has none", gpuName(rank));
    return answer;
  }
  const std::vector<topology::NodeId> own = rules.locality().localNets(gpu);
  answer.headline = fmt::format("{}'s own NIC is {}", gpuName(rank), rules.name(own.front()));
  if (own.size() > 1)
    answer.headline =
        fmt::format("{}'s own NICs are {}, channel by channel", gpuName(rank), listed(namesOf(rules, own)));
  answer.steps = {nearestStep(rules, gpu, near), pickStep(rules, gpu),
                  unusedStep(rules, plan::ringsByNet(context.plan, rank))};
  if (context.plan.connections.nodes.count() > 1) {
    AnswerTable rings = ringTable(context, rules, rank);
    if (rings.rows.empty())
      answer.notes.push_back(
          fmt::format("{} is neither first nor last of its host in any ring: it uses no "
                      "NIC in them.",
                      gpuName(rank)));
    else
      answer.tables.push_back(std::move(rings));
    if (context.plan.job().hosts() > 1) answer.tables.push_back(p2pTable(context, rules, rank, peer));
  }
  answer.tables.push_back(allNics(rules, gpu, netsOfHost(context.plan, rank)));
  answer.notes.emplace_back(
      "A proxy other than the rank itself is PXN: that rank's proxy thread drives the NIC beside its GPU.");
  for (const char* value : {"0", "1"}) tryWith(context, answer, Setting::kCrossNic, value, nicSummary);
  return answer;
}

}  // namespace xylem::why
