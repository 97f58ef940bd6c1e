#include "insight/why/rules.h"

#include <fmt/format.h>

#include "planner/topology/system_builder.h"
#include "insight/why/names.h"
#include "insight/why/source.h"

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

}  // namespace

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
  // The relay may be named in it.
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

}  // namespace xylem
