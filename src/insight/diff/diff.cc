#include "insight/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "insight/diff/sections.h"

namespace xylem {
namespace {

// A side whose plan leaves a section out.
void remarkLightPlans(const PlanFacts& a, const PlanFacts& b, PlanDiff& diff) {
  const auto light = [](const PlanFacts& facts) {
    return std::any_of(facts.hosts.begin(), facts.hosts.end(),
                       [](const HostFacts& host) { return host.nodes.empty(); });
  };
  for (const PlanFacts* facts : {&a, &b})
    if (light(*facts))
      diff.remarks.push_back(facts->title +
                             " has no nodes and no paths: machines and paths are not compared");
}

void remarkOrder(PlanDiff& diff) {
  if (diff.order.empty()) return;
  const bool alone = diff.machine.empty() && diff.asked.empty();
  if (diff.samePlan())
    diff.remarks.emplace_back("the other order makes no difference to the plan");
  else if (alone)
    diff.remarks.emplace_back(
        "only the order differs: NCCL numbers nodes and settles ties by it, and all that follows comes from "
        "that");
  else
    diff.remarks.emplace_back("the order differs too; NCCL numbers nodes and settles ties by it");
}

}  // namespace

PlanDiff comparePlans(const PlanFacts& a, const PlanFacts& b) {
  PlanDiff diff;
  compareValues(a.asked, b.asked, "job", "", diff.asked);
  compareValues(a.settings, b.settings, "setting", "", diff.asked, "not set");
  remarkLightPlans(a, b, diff);
  const std::size_t hosts = std::min(a.hosts.size(), b.hosts.size());
  if (a.hosts.size() != b.hosts.size())
    diff.remarks.push_back(fmt::format("{} kinds of hosts and {}: compared one by one, as far as both go",
                                       a.hosts.size(), b.hosts.size()));
  for (std::size_t i = 0; i < hosts; ++i) {
    const NodeMatch match(a.hosts[i].nodes, b.hosts[i].nodes);
    const std::string where = hosts > 1 ? fmt::format("host kind {}", i) : "";
    if (match.gpusByRank() && !a.hosts[i].nodes.empty() && !b.hosts[i].nodes.empty())
      diff.remarks.emplace_back("no GPU has the same bus id on both sides: GPUs are compared by rank");
    compareMachines(a.hosts[i], b.hosts[i], match, where, diff);
    compareReach(a.hosts[i], b.hosts[i], match, where, diff);
    compareGraphs(a.hosts[i].graphs, b.hosts[i].graphs, match, where, diff);
    if (i == 0) compareConnections(a, b, match, diff);
  }
  if (hosts > 1) compareGraphs(a.merged, b.merged, NodeMatch({}, {}), "all hosts", diff);
  compareChoices(a, b, diff);
  remarkOrder(diff);
  return diff;
}

}  // namespace xylem
