#include "insight/why/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "insight/why/names.h"

namespace xylem::why {
namespace {

const char* nameOf(paths::Rule rule) {
  switch (rule) {
    case paths::Rule::kP2p:
      return "p2p-level";
    case paths::Rule::kShm:
      return "shm";
    case paths::Rule::kNetIsBetter:
      return "net-is-better";
    case paths::Rule::kGdrReceive:
      return "gdr-receive";
    case paths::Rule::kGdrSend:
      return "gdr-send";
    case paths::Rule::kPxn:
      return "pxn";
    case paths::Rule::kFlush:
      return "flush";
  }
  return "";
}

bool comparesDistance(const paths::Decision& d) {
  return d.reason == paths::Reason::kNear || d.reason == paths::Reason::kTooFar;
}

// "PXB (4), NCCL's default", "PIX (3), set by NCCL_P2P_LEVEL".
std::string limitText(const paths::Decision& d, const rules::RuleSet& rules) {
  switch (d.limitFrom) {
    case paths::LimitFrom::kDefault:
      return typeText(d.limit, rules) + ", NCCL's default";
    case paths::LimitFrom::kVariable:
      return fmt::format("{}, set by {}", typeText(d.limit, rules), spec(d.variable).name);
    case paths::LimitFrom::kFewAmdGpus:
      return typeText(d.limit, rules) + ", as AMD machines with up to two GPUs reach across CPUs";
  }
  return "";
}

}  // namespace

HostRules::HostRules(const plan::Plan& plan, int rank, const plan::HostPlan& host)
    : plan_(plan),
      rank_(rank),
      host_(host),
      locality_(host_.system(), host_.paths.paths),
      reach_(host_.system(), host_.paths.paths, locality_, plan.reach) {}

std::string HostRules::name(topology::NodeId node) const { return nodeName(plan_, rank_, system(), node); }

const paths::Decision* HostRules::made(paths::Rule rule, topology::NodeId subject,
                                       topology::NodeId object) const {
  for (const paths::Decision& d : host_.paths.decisions)
    if (d.rule == rule && d.subject == subject && d.object == object) return &d;
  return nullptr;
}

std::string HostRules::sentence(const paths::Decision& d) const {
  std::string text = paths::explain(d, [this](topology::NodeId node) { return name(node); }).clause();
  if (comparesDistance(d))
    text += fmt::format(", distance {} {} {}", paths::typeNumber(d.distance, system().rules()),
                        d.yes ? "<=" : ">", paths::typeNumber(d.limit, system().rules()));
  return text;
}

void HostRules::addPxnInputs(AnswerStep& step, const paths::Decision& d) const {
  step.threshold = fmt::format(
      "a relay at most {} from the NIC, joined to the GPU by NVLink, when the GPU's own path is farther than "
      "{} or has less bandwidth",
      typeText(d.limit, system().rules()),
      typeText(system().rules().pxnToFarNicsOnly ? paths::PathType::kPxn : paths::PathType::kPxb,
               system().rules()));
  step.inputs.push_back({"own path", typeText(d.distance, system().rules())});
  if (d.relay == topology::kNoNode) return;
  const paths::Path& relayToNet = paths().path(d.relay, d.object);
  step.inputs.push_back({"relay", name(d.relay)});
  step.inputs.push_back({"relay to NIC", fmt::format("{}, {}", typeText(relayToNet.type, system().rules()),
                                                     bandwidthText(relayToNet.bandwidth))});
  if (d.relay != d.subject)
    step.inputs.push_back(
        {"relay to GPU", typeText(paths().path(d.relay, d.subject).type, system().rules())});
}

void HostRules::addInputs(AnswerStep& step, const paths::Decision& d) const {
  if (d.rule == paths::Rule::kPxn) return addPxnInputs(step, d);
  const bool gdr = d.rule == paths::Rule::kGdrReceive || d.rule == paths::Rule::kGdrSend;
  if (comparesDistance(d)) {
    step.inputs.push_back({"distance", typeText(d.distance, system().rules())});
    step.threshold = limitText(d, system().rules());
  }
  if (gdr) {
    step.inputs.push_back({"gdr of the NIC", system().net(d.object).gdr ? "1" : "0"});
    step.inputs.push_back({"gdr of the GPU", system().gpu(d.subject).gdr ? "1" : "0"});
    step.inputs.push_back({"sm", std::to_string(system().gpu(d.subject).sm)});
  }
  if (d.rule == paths::Rule::kFlush) {
    step.inputs.push_back({"path", typeText(d.distance, system().rules())});
    const topology::NodeId cpu = paths::closestCpu(system(), paths(), d.subject);
    step.inputs.push_back({"path to the CPU", typeText(paths().path(d.subject, cpu).type, system().rules())});
    step.inputs.push_back({"sm", std::to_string(system().gpu(d.subject).sm)});
  }
  if (d.relay != topology::kNoNode) step.inputs.push_back({"relay", name(d.relay)});
  if (d.reason != paths::Reason::kNicsFaster && d.reason != paths::Reason::kPathFaster) return;
  step.inputs.push_back({"between the GPUs", bandwidthText(paths().path(d.subject, d.object).bandwidth)});
  for (topology::NodeId gpu : {d.subject, d.object}) {
    float best = 0;
    for (topology::NodeId net : system().nodes(topology::NodeType::kNet))
      if (paths().path(gpu, net).type <= paths::PathType::kPxb)
        best = std::max(best, paths().path(gpu, net).bandwidth);
    step.inputs.push_back({fmt::format("{} to a NIC within PXB", name(gpu)), bandwidthText(best)});
  }
  step.threshold = "both NICs faster than the way between the GPUs";
}

paths::Decision HostRules::gdr(topology::NodeId gpu, topology::NodeId net, paths::Direction direction) const {
  if (direction == paths::Direction::kReceive)
    if (const paths::Decision* before = made(paths::Rule::kGdrReceive, gpu, net)) return *before;
  return reach_.gdr(gpu, net, direction);
}

AnswerStep HostRules::step(const paths::Decision& d) const {
  AnswerStep step{.rule = nameOf(d.rule),
                  .text = sentence(d),
                  .yes = d.yes,
                  .inputs = {},
                  .threshold = "",
                  .variable = d.variable,
                  .sources = {}};
  addInputs(step, d);
  for (topology::NodeId node : {d.subject, d.object, d.relay})
    if (node != topology::kNoNode) step.sources.push_back(sourceOf(host_, node));
  return step;
}

// True if the link starts at a GPU that only passes data on, from NVLink to NVLink.
bool Hops::isRelayed(std::size_t i) const {
  if (i == 0) return false;
  const topology::System& system = rules_.system();
  const topology::Link& link = system.link(links_[i]);
  return system.type(link.from) == topology::NodeType::kGpu &&
         system.type(link.to) == topology::NodeType::kGpu && link.type == topology::LinkType::kNvl &&
         system.link(links_[i - 1]).type == topology::LinkType::kNvl;
}

// The path type that the link alone would give: a path has the farthest of its links' types.
Hops::Hop Hops::judge(std::size_t i) const {
  const topology::System& system = rules_.system();
  const topology::Link& link = system.link(links_[i]);
  const topology::NodeType from = system.type(link.from);
  const topology::NodeType to = system.type(link.to);
  if (link.type == topology::LinkType::kNet)
    return {paths::PathType::kLoc, "a NIC and its port count as one"};
  if (isRelayed(i)) return {paths::PathType::kNvb, "NVLink through another GPU"};
  if (link.type == topology::LinkType::kNvl)
    return {paths::PathType::kNvl, "NVLink, or a link from chip to chip"};
  if (link.type == topology::LinkType::kC2c) return {paths::PathType::kC2c, "a link from chip to chip"};
  if (link.type == topology::LinkType::kSys) return {paths::PathType::kSys, "from one CPU to another"};
  if (link.type == topology::LinkType::kPci &&
      (from == topology::NodeType::kCpu || to == topology::NodeType::kCpu))
    return {paths::PathType::kPhb, "PCI to or from a CPU"};
  if (from == topology::NodeType::kPci && to == topology::NodeType::kPci)
    return {paths::PathType::kPxb, "from switch to switch"};
  return {paths::PathType::kPix, "PCI below one switch"};
}

void Hops::explainPxn(AnswerStep& step) const {
  step.text = fmt::format("the path is {}: it leads through another GPU",
                          typeText(path_.type, rules_.system().rules()));
  const topology::System& system = rules_.system();
  for (topology::LinkId id : links_) {
    const topology::NodeId relay = system.link(id).to;
    if (system.type(relay) != topology::NodeType::kGpu) continue;
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
  step.text = fmt::format("the path is {}", typeText(path_.type, rules_.system().rules()));
  if (path_.type == paths::PathType::kNet) {
    step.text += ": neither direct access nor shared memory is allowed";
    return step;
  }
  if (path_.type == paths::PathType::kPxn) {
    explainPxn(step);
    return step;
  }
  std::size_t farthest = 0;
  for (std::size_t i = 1; i < links_.size(); ++i)
    if (judge(i).type > judge(farthest).type) farthest = i;
  if (links_.empty()) return step;
  const topology::Link& link = rules_.system().link(links_[farthest]);
  step.inputs.push_back({"farthest link", fmt::format("{} to {}: {}", rules_.name(link.from),
                                                      rules_.name(link.to), judge(farthest).because)});
  step.text += ": " + step.inputs.back().value;
  step.sources.push_back(sourceOfLink(rules_.host(), links_[farthest]));
  return step;
}

AnswerStep Hops::bandwidthStep() const {
  const topology::System& system = rules_.system();
  AnswerStep step;
  step.rule = "path-bandwidth";
  step.text = bandwidthText(path_.bandwidth);
  step.threshold = "the narrowest link decides";
  const auto narrowest =
      std::min_element(links_.begin(), links_.end(), [&](topology::LinkId a, topology::LinkId b) {
        return system.link(a).bandwidth < system.link(b).bandwidth;
      });
  if (narrowest == links_.end()) return step;
  const topology::Link& link = system.link(*narrowest);
  step.text += fmt::format(": the {} link {} to {} is the narrowest", topology::name(link.type),
                           rules_.name(link.from), rules_.name(link.to));
  step.inputs = {{"narrowest link", bandwidthText(link.bandwidth)}};
  step.sources.push_back(sourceOfLink(rules_.host(), *narrowest));
  return step;
}

AnswerTable Hops::table() const {
  AnswerTable table{"Links of the path", {"from", "to", "link", "GB/s", "makes it", "as", "line"}, {}};
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const topology::Link& link = rules_.system().link(links_[i]);
    const Hop hop = judge(i);
    table.rows.push_back({rules_.name(link.from), rules_.name(link.to), topology::name(link.type),
                          fmt::format("{:.1f}", link.bandwidth), paths::name(hop.type), hop.because,
                          std::to_string(sourceOfLink(rules_.host(), links_[i]).line)});
  }
  return table;
}

}  // namespace xylem::why
