// why path: the links that data takes, the link that gives the path its type, and the link that limits it.
#include <fmt/format.h>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "planner/connect/net_choice.h"

namespace xylem::why {
namespace {

// Adds the reach rules that changed the path after it was found over the wires alone.
void addAdjustments(const HostRules& rules, Answer& answer, topology::NodeId from, topology::NodeId to) {
  if (rules.system().type(to) == topology::NodeType::kGpu) {
    if (const paths::Decision* p2p = rules.made(paths::Rule::kP2p, from, to)) {
      answer.steps.push_back(rules.step(*p2p));
      if (!p2p->yes) answer.steps.back().text += "; so they meet in the memory of the CPU";
    }
    if (const paths::Decision* shm = rules.made(paths::Rule::kShm, from, to))
      answer.steps.push_back(rules.step(*shm));
    return;
  }
  if (const paths::Decision* pxn = rules.made(paths::Rule::kPxn, from, to))
    answer.steps.push_back(rules.step(*pxn));
  if (const paths::Decision* gdr = rules.made(paths::Rule::kGdrReceive, from, to);
      gdr != nullptr && !gdr->yes) {
    answer.steps.push_back(rules.step(*gdr));
    answer.steps.back().text += "; so data goes through the memory of the CPU";
  }
}

Answer betweenNodes(const plan::Plan& plan, int from, int to) {
  const connect::NetChoice choice(plan.connections, plan.reach);
  const bool shares = choice.transport(from, to, paths::Direction::kSend) == connect::TransportKind::kShm;
  Answer answer;
  answer.question = fmt::format("path {} {}", gpuName(from), gpuName(to));
  answer.headline = fmt::format("{} and {} reach each other {}", gpuName(from), gpuName(to),
                                shares ? "through the memory of their host" : "over the network only");
  answer.notes.push_back(
      plan.job().hostOf(from) != plan.job().hostOf(to)
          ? fmt::format("They are on hosts {} and {}: ask `nic` for the NICs they use.",
                        plan.job().hostOf(from), plan.job().hostOf(to))
          : "NCCL has them in two nodes of their host, and knows no path between these. Ask `p2p` for the "
            "reasons.");
  return answer;
}

}  // namespace

Answer whyPath(const QuestionContext& context, int rank, int peer, topology::NodeId net) {
  const plan::Plan& plan = context.plan;
  const topology::NodeId from = plan.job().gpuOf(rank);
  const topology::NodeId to = net != topology::kNoNode ? net : plan.job().gpuSeenBy(rank, peer);
  if (to == topology::kNoNode) return betweenNodes(plan, rank, peer);
  const HostRules rules(plan, rank);
  const Hops hops(rules, rules.paths(), from, to);
  const paths::Path& path = hops.path();
  Answer answer;
  answer.question = fmt::format("path {} {}", gpuName(rank), rules.name(to));
  answer.headline =
      fmt::format("{} to {}: {}, {}, {} link{}", gpuName(rank), rules.name(to), paths::name(path.type),
                  bandwidthText(path.bandwidth), hops.count(), hops.count() == 1 ? "" : "s");
  answer.steps = {hops.typeStep(), hops.bandwidthStep()};
  addAdjustments(rules, answer, from, to);
  if (hops.count() > 0) answer.tables.push_back(hops.table());
  if (net != topology::kNoNode) {
    const paths::Path& back = rules.paths().path(net, from);
    if (back.type != path.type || back.hops != path.hops)
      answer.notes.push_back(fmt::format("The way back differs: {}, {}, {} links.", paths::name(back.type),
                                         bandwidthText(back.bandwidth), back.hops));
  }
  return answer;
}

}  // namespace xylem::why
