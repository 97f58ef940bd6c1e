#include "insight/why/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/topology/system_builder.h"
#include "insight/why/names.h"

namespace xylem {
namespace {

const char* nameOf(Rule rule) {
  switch (rule) {
    case Rule::kP2p:
      return "p2p-level";
    case Rule::kShm:
      return "shm";
    case Rule::kNetIsBetter:
      return "net-is-better";
    case Rule::kGdrReceive:
      return "gdr-receive";
    case Rule::kGdrSend:
      return "gdr-send";
    case Rule::kPxn:
      return "pxn";
  }
  return "";
}

bool comparesDistance(const Decision& d) { return d.reason == Reason::kNear || d.reason == Reason::kTooFar; }

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// "PXB (4), NCCL's default", "PIX (3), set by NCCL_P2P_LEVEL".
std::string limitText(const Decision& d) {
  switch (d.limitFrom) {
    case LimitFrom::kDefault:
      return typeText(d.limit) + ", NCCL's default";
    case LimitFrom::kVariable:
      return fmt::format("{}, set by {}", typeText(d.limit), spec(d.variable).name);
    case LimitFrom::kFewAmdGpus:
      return typeText(d.limit) + ", as AMD machines with up to two GPUs reach across CPUs";
  }
  return "";
}

}  // namespace

HostPlan wholeHost(const Plan& plan, int rank) {
  HostPlan host;
  host.description = plan.hostOf(rank).description;
  host.paths.system = buildSystem(*host.description);
  host.paths.paths = findUsablePaths(host.paths.system, plan.reach, &host.paths.decisions);
  return host;
}

HostRules::HostRules(const Plan& plan, int rank, const HostPlan& host)
    : plan_(plan),
      rank_(rank),
      host_(host),
      locality_(host_.system(), host_.paths.paths),
      reach_(host_.system(), host_.paths.paths, locality_, plan.reach) {}

std::string HostRules::name(NodeId node) const { return nodeName(plan_, rank_, system(), node); }

const Decision* HostRules::made(Rule rule, NodeId subject, NodeId object) const {
  for (const Decision& d : host_.paths.decisions)
    if (d.rule == rule && d.subject == subject && d.object == object) return &d;
  return nullptr;
}

std::string HostRules::sentence(const Decision& d) const {
  std::string text = explain(d, system());
  if (const std::size_t colon = text.find(": "); colon != std::string::npos) text = text.substr(colon + 2);
  // The sentence may name the relay, in the planner's words.
  if (d.relay != kNoNode) replaceAll(text, system().name(d.relay), name(d.relay));
  if (comparesDistance(d))
    text += fmt::format(", distance {} {} {}", static_cast<int>(d.distance), d.yes ? "<=" : ">",
                        static_cast<int>(d.limit));
  return text;
}

void HostRules::addPxnInputs(AnswerStep& step, const Decision& d) const {
  step.threshold = fmt::format(
      "a relay at most {} from the NIC, joined to the GPU by NVLink, when the GPU's own path is farther than "
      "{} or has less bandwidth",
      typeText(PathType::kPxb), typeText(PathType::kPxb));
  step.inputs.push_back({"own path", typeText(d.distance)});
  if (d.relay == kNoNode) return;
  const Path& relayToNet = paths().path(d.relay, d.object);
  step.inputs.push_back({"relay", name(d.relay)});
  step.inputs.push_back({"relay to NIC", fmt::format("{}, {}", typeText(relayToNet.type),
                                                     bandwidthText(relayToNet.bandwidth))});
  if (d.relay != d.subject)
    step.inputs.push_back({"relay to GPU", typeText(paths().path(d.relay, d.subject).type)});
}

void HostRules::addInputs(AnswerStep& step, const Decision& d) const {
  if (d.rule == Rule::kPxn) return addPxnInputs(step, d);
  const bool gdr = d.rule == Rule::kGdrReceive || d.rule == Rule::kGdrSend;
  if (comparesDistance(d)) {
    step.inputs.push_back({"distance", typeText(d.distance)});
    step.threshold = limitText(d);
  }
  if (gdr) {
    step.inputs.push_back({"gdr of the NIC", system().net(d.object).gdr ? "1" : "0"});
    step.inputs.push_back({"gdr of the GPU", system().gpu(d.subject).gdr ? "1" : "0"});
    step.inputs.push_back({"sm", std::to_string(system().gpu(d.subject).sm)});
  }
  if (d.relay != kNoNode) step.inputs.push_back({"relay", name(d.relay)});
  if (d.reason != Reason::kNicsFaster && d.reason != Reason::kPathFaster) return;
  step.inputs.push_back({"between the GPUs", bandwidthText(paths().path(d.subject, d.object).bandwidth)});
  for (NodeId gpu : {d.subject, d.object}) {
    float best = 0;
    for (NodeId net : system().nodes(NodeType::kNet))
      if (paths().path(gpu, net).type <= PathType::kPxb)
        best = std::max(best, paths().path(gpu, net).bandwidth);
    step.inputs.push_back({fmt::format("{} to a NIC within PXB", name(gpu)), bandwidthText(best)});
  }
  step.threshold = "both NICs faster than the way between the GPUs";
}

AnswerStep HostRules::step(const Decision& d) const {
  AnswerStep step{.rule = nameOf(d.rule),
                  .text = sentence(d),
                  .yes = d.yes,
                  .inputs = {},
                  .threshold = "",
                  .variable = d.variable,
                  .sources = {}};
  addInputs(step, d);
  for (NodeId node : {d.subject, d.object, d.relay})
    if (node != kNoNode) step.sources.push_back(sourceOf(host_, node));
  return step;
}

// True if the link starts at a GPU that only passes data on, from NVLink to NVLink.
bool Hops::isRelayed(std::size_t i) const {
  if (i == 0) return false;
  const System& system = rules_.system();
  const Link& link = system.link(links_[i]);
  return system.type(link.from) == NodeType::kGpu && system.type(link.to) == NodeType::kGpu &&
         link.type == LinkType::kNvl && system.link(links_[i - 1]).type == LinkType::kNvl;
}

// The path type that the link alone would give: a path has the farthest of its links' types.
Hops::Hop Hops::judge(std::size_t i) const {
  const System& system = rules_.system();
  const Link& link = system.link(links_[i]);
  const NodeType from = system.type(link.from);
  const NodeType to = system.type(link.to);
  if (link.type == LinkType::kNet) return {PathType::kLoc, "a NIC and its port count as one"};
  if (isRelayed(i)) return {PathType::kNvb, "NVLink through another GPU"};
  if (link.type == LinkType::kNvl) return {PathType::kNvl, "NVLink, or a link from chip to chip"};
  if (link.type == LinkType::kSys) return {PathType::kSys, "from one CPU to another"};
  if (link.type == LinkType::kPci && (from == NodeType::kCpu || to == NodeType::kCpu))
    return {PathType::kPhb, "PCI to or from a CPU"};
  if (from == NodeType::kPci && to == NodeType::kPci) return {PathType::kPxb, "from switch to switch"};
  return {PathType::kPix, "PCI below one switch"};
}

void Hops::explainPxn(AnswerStep& step) const {
  step.text = fmt::format("the path is {}: it leads through another GPU", typeText(path_.type));
  const System& system = rules_.system();
  for (LinkId id : links_) {
    const NodeId relay = system.link(id).to;
    if (system.type(relay) != NodeType::kGpu) continue;
    step.inputs.push_back({"relay", rules_.name(relay)});
    step.sources.push_back(sourceOf(rules_.host(), relay));
    return;
  }
}

AnswerStep Hops::typeStep() const {
  AnswerStep step;
  step.rule = "path-type";
  step.threshold = "the farthest link decides";
  step.inputs = {{"links", std::to_string(links_.size())}};
  step.text = fmt::format("the path is {}", typeText(path_.type));
  if (path_.type == PathType::kNet) {
    step.text += ": neither direct access nor shared memory is allowed";
    return step;
  }
  if (path_.type == PathType::kPxn) {
    explainPxn(step);
    return step;
  }
  std::size_t farthest = 0;
  for (std::size_t i = 1; i < links_.size(); ++i)
    if (judge(i).type > judge(farthest).type) farthest = i;
  if (links_.empty()) return step;
  const Link& link = rules_.system().link(links_[farthest]);
  step.inputs.push_back({"farthest link", fmt::format("{} to {}: {}", rules_.name(link.from),
                                                      rules_.name(link.to), judge(farthest).because)});
  step.text += ": " + step.inputs.back().value;
  step.sources.push_back(sourceOfLink(rules_.host(), links_[farthest]));
  return step;
}

AnswerStep Hops::bandwidthStep() const {
  const System& system = rules_.system();
  AnswerStep step;
  step.rule = "path-bandwidth";
  step.text = bandwidthText(path_.bandwidth);
  step.threshold = "the narrowest link decides";
  const auto narrowest = std::min_element(links_.begin(), links_.end(), [&](LinkId a, LinkId b) {
    return system.link(a).bandwidth < system.link(b).bandwidth;
  });
  if (narrowest == links_.end()) return step;
  const Link& link = system.link(*narrowest);
  step.text += fmt::format(": the {} link {} to {} is the narrowest", name(link.type), rules_.name(link.from),
                           rules_.name(link.to));
  step.inputs = {{"narrowest link", bandwidthText(link.bandwidth)}};
  step.sources.push_back(sourceOfLink(rules_.host(), *narrowest));
  return step;
}

AnswerTable Hops::table() const {
  AnswerTable table{"Links of the path", {"from", "to", "link", "GB/s", "makes it", "as", "line"}, {}};
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& link = rules_.system().link(links_[i]);
    const Hop hop = judge(i);
    table.rows.push_back({rules_.name(link.from), rules_.name(link.to), name(link.type),
                          fmt::format("{:.1f}", link.bandwidth), name(hop.type), hop.because,
                          std::to_string(sourceOfLink(rules_.host(), links_[i]).line)});
  }
  return table;
}

}  // namespace xylem
