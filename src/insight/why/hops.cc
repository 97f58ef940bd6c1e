#include "insight/why/hops.h"

#include <fmt/format.h>

#include <algorithm>

#include "insight/why/names.h"
#include "insight/why/source.h"

namespace xylem {

// The link starts at a GPU that only passes data on, over NVLink on both sides.
bool Hops::isRelayed(std::size_t i) const {
  if (i == 0) return false;
  const System& system = rules_.system();
  const Link& link = system.link(links_[i]);
  return system.type(link.from) == NodeType::kGpu && system.type(link.to) == NodeType::kGpu &&
         link.type == LinkType::kNvl && system.link(links_[i - 1]).type == LinkType::kNvl;
}

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
