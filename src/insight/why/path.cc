// why path: the links that data takes, the link that gives the path its type, and the link that limits it.
#include <fmt/format.h>

#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "insight/why/names.h"

namespace xylem {
namespace {

// Adds the reach rules that changed the path after it was found over the wires alone.
void addAdjustments(const HostRules& rules, Answer& answer, NodeId from, NodeId to) {
  if (rules.system().type(to) == NodeType::kGpu) {
    if (const Decision* p2p = rules.made(Rule::kP2p, from, to)) {
      answer.steps.push_back(rules.step(*p2p));
      if (!p2p->yes) answer.steps.back().text += "; so they meet in the memory of the CPU";
    }
    if (const Decision* shm = rules.made(Rule::kShm, from, to)) answer.steps.push_back(rules.step(*shm));
    return;
  }
  if (const Decision* pxn = rules.made(Rule::kPxn, from, to)) answer.steps.push_back(rules.step(*pxn));
  if (const Decision* gdr = rules.made(Rule::kGdrReceive, from, to); gdr != nullptr && !gdr->yes) {
    answer.steps.push_back(rules.step(*gdr));
    answer.steps.back().text += "; so data goes through the memory of the CPU";
  }
}

Answer betweenHosts(const Plan& plan, int from, int to) {
  Answer answer;
  answer.question = fmt::format("path {} {}", gpuName(from), gpuName(to));
  answer.headline =
      fmt::format("{} and {} reach each other over the network only", gpuName(from), gpuName(to));
  answer.notes.push_back(plan.job().hostOf(from) != plan.job().hostOf(to)
                             ? fmt::format("They are on hosts {} and {}: ask `nic` for the NICs they use.",
                                           plan.job().hostOf(from), plan.job().hostOf(to))
                             : "On the same host nothing joins them but NICs: NCCL counts two nodes. Ask "
                               "`p2p` for the reasons.");
  return answer;
}

}  // namespace

Answer whyPath(const QuestionContext& context, int rank, int peer, NodeId net) {
  const Plan& plan = context.plan;
  const NodeId from = plan.job().gpuOf(rank);
  const NodeId to = net != kNoNode ? net : plan.job().gpuSeenBy(rank, peer);
  if (to == kNoNode) return betweenHosts(plan, rank, peer);
  const HostRules rules(plan, rank);
  const Hops hops(rules, rules.paths(), from, to);
  const Path& path = hops.path();
  Answer answer;
  answer.question = fmt::format("path {} {}", gpuName(rank), rules.name(to));
  answer.headline = fmt::format("{} to {}: {}, {}, {} link{}", gpuName(rank), rules.name(to), name(path.type),
                                bandwidthText(path.bandwidth), hops.count(), hops.count() == 1 ? "" : "s");
  answer.steps = {hops.typeStep(), hops.bandwidthStep()};
  addAdjustments(rules, answer, from, to);
  if (hops.count() > 0) answer.tables.push_back(hops.table());
  if (net != kNoNode) {
    const Path& back = rules.paths().path(net, from);
    if (back.type != path.type || back.hops != path.hops)
      answer.notes.push_back(fmt::format("The way back differs: {}, {}, {} links.", name(back.type),
                                         bandwidthText(back.bandwidth), back.hops));
  }
  return answer;
}

}  // namespace xylem
