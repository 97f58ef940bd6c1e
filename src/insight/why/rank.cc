// why rank: the lines about rings and trees that NCCL logs for one rank, and what they mean.
#include <fmt/format.h>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "planner/connect/connect_log.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"

namespace xylem::why {
namespace {

std::string peerText(const plan::Plan& plan, int rank, int peer) {
  if (plan.job().hostOf(peer) == plan.job().hostOf(rank)) return fmt::format("rank {}", peer);
  return fmt::format("rank {} on host {}", peer, plan.job().hostOf(peer));
}

// The links of a tree as NCCL logs them: "4/-1/-1->3->2".
std::string treeText(const connect::TreeLinks& links, int rank) {
  return fmt::format("{}->{}->{}", fmt::join(links.down, "/"), rank, links.up);
}

std::string meaning(const plan::Plan& plan, int rank, const connect::TreeLinks& links) {
  std::string children;
  for (const int child : links.down)
    if (child >= 0) children += (children.empty() ? "" : " and ") + peerText(plan, rank, child);
  const std::string up = links.up < 0 ? "it is the root" : "sums up to " + peerText(plan, rank, links.up);
  return (children.empty() ? "it is a leaf" : "takes sums from " + children) + "; " + up;
}

// One row for all channels that have the same links, since most repeat.
AnswerTable treesTable(const plan::Plan& plan, int rank) {
  AnswerTable table{"Its Trees line", {"channels", "in the log", "meaning"}, {}};
  const int channels = plan.connections.of(rank).channels.total();
  for (int channel = 0; channel < channels; ++channel) {
    const connect::TreeLinks links = connect::treeOf(plan.connections, rank, channel);
    const std::string text = treeText(links, rank);
    bool known = false;
    for (auto& row : table.rows)
      if (row[1] == text) {
        row[0] += fmt::format(" [{}]", channel);
        known = true;
      }
    if (!known) table.rows.push_back({fmt::format("[{}]", channel), text, meaning(plan, rank, links)});
  }
  return table;
}

// The line that NCCL logs for the connection to the next rank of the ring.
std::string connectionLine(const plan::Plan& plan, const connect::NetChoice& choice, const HostRules& rules,
                           int rank, int channel, int next) {
  const int dev = rules.system().gpu(plan.job().gpuOf(rank)).dev;
  const int nextDev = plan.hostOf(next).system().gpu(plan.job().gpuOf(next)).dev;
  const std::string ends = fmt::format("{}[{}] -> {}[{}]", rank, dev, next, nextDev);
  const auto end = choice.ringEnd(rank, channel, next, paths::Direction::kSend);
  const bool overPci = end && end->gdrOverPci && rules.system().rules().logsGdrMode;
  const std::string gdrText = !end || !end->gdr ? "" : overPci ? "/GDRDMA(PCI)" : "/GDRDMA";
  if (end && end->net != topology::kNoNode)
    return fmt::format("Channel {:02d}/0 : {} [send] via NET/IB/{}{}{}", channel, ends,
                       rules.system().net(end->net).dev,
                       end->proxy == rank ? "" : fmt::format("({})", end->proxy), gdrText);
  if (end) return fmt::format("Channel {:02d}/0 : {} [send] via NET", channel, ends);
  const topology::NodeId a = plan.job().gpuOf(rank);
  const topology::NodeId b = plan.job().gpuSeenBy(rank, next);
  const bool direct = b != topology::kNoNode && rules.reach().transportP2p(a, b).yes;
  return direct ? fmt::format("Channel {:02d}/0 : {} via P2P/CUMEM{}", channel, ends,
                              rules.reach().p2pRead(a, b) ? "/read" : "")
                : fmt::format("Channel {:02d} : {} via SHM/direct{}", channel, ends,
                              rules.system().rules().logsShmModes ? "/direct" : "");
}

AnswerTable ringsTable(const plan::Plan& plan, int rank) {
  const HostRules rules(plan, rank);
  const connect::NetChoice choice(plan.connections, plan.reach);
  AnswerTable table{"Its place in the rings", {"channel", "Ring line", "connection to the next"}, {}};
  for (int channel = 0; channel < plan.connections.of(rank).channels.total(); ++channel) {
    const connect::RingNeighbours ring = connect::ringNeighbours(plan.connections, rank, channel);
    table.rows.push_back(
        {std::to_string(channel),
         fmt::format("Ring {:02d} : {} -> {} -> {}", channel, ring.previous, rank, ring.next),
         connectionLine(plan, choice, rules, rank, channel, ring.next)});
  }
  return table;
}

// A step that shows a log line and explains its form.
AnswerStep form(const char* rule, const std::string& line, const std::string& meaning) {
  AnswerStep step;
  step.rule = rule;
  step.text = meaning;
  step.inputs = {{"line", line}};
  return step;
}

}  // namespace

Answer whyRank(const QuestionContext& context, int rank) {
  const plan::Plan& plan = context.plan;
  const connect::Connections& c = plan.connections;
  const topology::NodeId gpu = c.job.gpuOf(rank);
  Answer answer;
  answer.question = fmt::format("rank {}", rank);
  answer.headline =
      fmt::format("rank {} is device {} of host {}, node {}, local rank {}, with {} channels", rank,
                  plan.hostOf(rank).system().gpu(gpu).dev, c.job.hostOf(rank),
                  c.nodes.ofRank[static_cast<std::size_t>(rank)],
                  c.nodes.localRank[static_cast<std::size_t>(rank)], c.of(rank).channels.total());
  const std::vector<LogLine> rings = connect::ringLines(c);
  answer.steps.push_back(form("line-channel", rings.front().text,
                              fmt::format("Channel C/N : the ring of channel C of N, as ranks from 0 on; the "
                                          "last one sends to the first. Rank {} logs it for all",
                                          0)));
  const connect::RingNeighbours around = connect::ringNeighbours(c, rank, 0);
  answer.steps.push_back(form(
      "line-ring", fmt::format("Ring 00 : {} -> {} -> {}", around.previous, rank, around.next),
      fmt::format("Ring C : the rank before, this rank, the rank after: it receives from {} and sends to {}",
                  peerText(plan, rank, around.previous), peerText(plan, rank, around.next))));
  const connect::TreeLinks tree = connect::treeOf(c, rank, 0);
  answer.steps.push_back(
      form("line-trees", fmt::format("Trees [0] {}", treeText(tree, rank)),
           fmt::format("[C] child/child/child->rank->parent, -1 for none: {}", meaning(plan, rank, tree))));
  answer.steps.push_back(
      form("line-connection", "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1(2)/GDRDMA",
           "of one connection (here an example): the number behind the slash is the connection (0 "
           "collectives, 1 send/receive), in brackets the "
           "device, then the transport: plugin, NIC, (rank whose proxy drives it, with PXN), /GDRDMA"));
  answer.steps.push_back(form("line-counts", connect::channelCountLine(c, rank).text,
                              "coll and collnet: all channels of the communicator; nvls and p2p: how many of "
                              "them those use (ask `count`)"));
  answer.steps.back().sources.push_back(sourceOf(plan.hostOf(rank), gpu));
  answer.tables = {treesTable(plan, rank), ringsTable(plan, rank)};
  answer.notes.emplace_back(
      "Trees come in pairs: with S channels found, channels 0 to S-1 use one tree and S to 2S-1 the other, "
      "in "
      "which leaves and inner nodes trade places.");
  return answer;
}

}  // namespace xylem::why
