// why path: the links data takes, why the path has its type, and what limits its bandwidth.
#include <fmt/format.h>

#include <algorithm>

#include "plan/why_asked.h"
#include "plan/why_names.h"
#include "plan/why_rules.h"
#include "plan/why_source.h"

namespace xylem {
namespace {

// What one link makes of a path.
struct Hop {
  PathType type = PathType::kLoc;
  const char* because = "";
};

Hop judge(const System& system, const Link& link, bool relayed) {
  const auto is = [&](NodeType type) {
    return system.type(link.from) == type || system.type(link.to) == type;
  };
  if (link.type == LinkType::kNet) return {PathType::kLoc, "a NIC and its port count as one"};
  if (relayed) return {PathType::kNvb, "NVLink through another GPU"};
  if (link.type == LinkType::kNvl) return {PathType::kNvl, "NVLink, or a link from chip to chip"};
  if (link.type == LinkType::kSys) return {PathType::kSys, "from one CPU to another"};
  if (link.type == LinkType::kPci && is(NodeType::kCpu)) return {PathType::kPhb, "PCI up to the CPU"};
  if (system.type(link.from) == NodeType::kPci && system.type(link.to) == NodeType::kPci)
    return {PathType::kPxb, "from switch to switch"};
  return {PathType::kPix, "PCI below one switch"};
}

// Does the link start at a GPU that only passes data on, over NVLink on both sides?
bool isRelayed(const System& system, std::span<const LinkId> links, std::size_t i) {
  if (i == 0) return false;
  const Link& link = system.link(links[i]);
  return system.type(link.from) == NodeType::kGpu && link.type == LinkType::kNvl &&
         system.link(links[i - 1]).type == LinkType::kNvl && system.type(link.to) == NodeType::kGpu;
}

// The rules that changed the path after the wires alone had been looked at.
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

AnswerStep typeStep(const HostRules& rules, const Path& path, std::span<const LinkId> links, PathType worst) {
  const System& system = rules.system();
  AnswerStep step{.rule = "path-type", .text = "", .threshold = "the farthest link decides"};
  step.inputs.push_back({"links", std::to_string(links.size())});
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Hop hop = judge(system, system.link(links[i]), isRelayed(system, links, i));
    if (hop.type != worst) continue;
    step.inputs.push_back(
        {"farthest link", fmt::format("{} to {}: {}", rules.name(system.link(links[i]).from),
                                      rules.name(system.link(links[i]).to), hop.because)});
    step.sources.push_back(sourceOfLink(rules.host(), links[i]));
    break;
  }
  step.text = fmt::format("the path is {}: {}", typeText(path.type),
                          step.inputs.size() > 1 ? step.inputs.back().value : "the node itself");
  if (path.type == PathType::kPxn)
    step.text = "the path is PXN (5): it leads through another GPU, over NVLink";
  if (path.type == PathType::kNet)
    step.text = "the path is NET (8): neither direct access nor shared memory is allowed";
  return step;
}

AnswerStep bandwidthStep(const HostRules& rules, const Path& path, std::span<const LinkId> links) {
  const System& system = rules.system();
  AnswerStep step{.rule = "path-bandwidth", .text = "", .threshold = "the narrowest link decides"};
  const auto narrowest = std::min_element(links.begin(), links.end(), [&](LinkId a, LinkId b) {
    return system.link(a).bandwidth < system.link(b).bandwidth;
  });
  step.text = fmt::format("{}", bandwidthText(path.bandwidth));
  if (narrowest == links.end()) return step;
  const Link& link = system.link(*narrowest);
  step.text +=
      fmt::format(": the {} link {} to {}", name(link.type), rules.name(link.from), rules.name(link.to));
  step.inputs.push_back({"narrowest link", bandwidthText(link.bandwidth)});
  step.sources.push_back(sourceOfLink(rules.host(), *narrowest));
  return step;
}

AnswerTable hopsTable(const HostRules& rules, std::span<const LinkId> links) {
  const System& system = rules.system();
  AnswerTable table{"Links of the path", {"from", "to", "link", "GB/s", "makes it", "as", "line"}, {}};
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = system.link(links[i]);
    const Hop hop = judge(system, link, isRelayed(system, links, i));
    table.rows.push_back({rules.name(link.from), rules.name(link.to), name(link.type),
                          fmt::format("{:.1f}", link.bandwidth), name(hop.type), hop.because,
                          std::to_string(sourceOfLink(rules.host(), links[i]).line)});
  }
  return table;
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

Answer whyPath(const Asked& asked, int rank, int peer, NodeId net) {
  const Plan& plan = asked.plan;
  const NodeId from = plan.job().gpuOf(rank);
  const NodeId to = net != kNoNode ? net : plan.job().gpuSeenBy(rank, peer);
  if (to == kNoNode) return betweenHosts(plan, rank, peer);
  const HostRules rules(plan, rank);
  const Path& path = rules.paths().path(from, to);
  const auto links = rules.paths().links(path);
  PathType worst = PathType::kLoc;
  for (std::size_t i = 0; i < links.size(); ++i)
    worst = std::max(
        worst,
        judge(rules.system(), rules.system().link(links[i]), isRelayed(rules.system(), links, i)).type);
  Answer answer;
  answer.question = fmt::format("path {} {}", gpuName(rank), rules.name(to));
  answer.headline = fmt::format("{} to {}: {}, {}, {} link{}", gpuName(rank), rules.name(to), name(path.type),
                                bandwidthText(path.bandwidth), links.size(), links.size() == 1 ? "" : "s");
  answer.steps.push_back(typeStep(rules, path, links, worst));
  answer.steps.push_back(bandwidthStep(rules, path, links));
  addAdjustments(rules, answer, from, to);
  if (!links.empty()) answer.tables.push_back(hopsTable(rules, links));
  if (net != kNoNode) {
    const Path& back = rules.paths().path(net, from);
    if (back.type != path.type || back.hops != path.hops)
      answer.notes.push_back(fmt::format("The way back differs: {}, {}, {} links.", name(back.type),
                                         bandwidthText(back.bandwidth), back.hops));
  }
  return answer;
}

}  // namespace xylem
