// Puts the parts of a comparison together, and writes it as JSON. Each kind of host is compared with the one
// at the same position on the other side.
#include "insight/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "insight/diff/renaming.h"
#include "insight/diff/sections.h"
#include "planner/plan/json_value.h"
#include "planner/plan/public_plan.h"

namespace xylem::diff {
namespace {

constexpr double kTolerance = 1e-4;  // relative
constexpr std::size_t kMaxRanksNamed = 16;
constexpr std::size_t kMaxNamesListed = 2;  // of each kind

// Remarks that a plan leaves its nodes out, so that parts are not compared.
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

// Notes the devices that have other names in B, and says so in one line.
void remarkNames(const Renaming& names, int otherGuids, const std::string& where, PlanDiff& diff) {
  std::vector<std::string> parts;
  const auto add = [&](const char* kind, const char* things,
                       const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::vector<std::string> words;
    for (const auto& [inA, inB] : pairs) {
      diff.names.push_back({where, kind, inA, inB});
      if (words.size() < kMaxNamesListed) words.push_back(fmt::format("{} is {}", inA, inB));
    }
    if (pairs.size() > words.size()) words.push_back(fmt::format("{} more", pairs.size() - words.size()));
    if (!words.empty()) parts.push_back(fmt::format("{} ({})", things, fmt::join(words, ", ")));
  };
  add("net", "NICs", renamedNets(names));
  add("pci", "bus ids", renamedBusIds(names));
  if (!parts.empty())
    diff.remarks.push_back(fmt::format("{}other names in B, matched by place: {}",
                                       where.empty() ? "" : where + ": ", fmt::join(parts, ", ")));
  else if (otherGuids > 0)
    diff.remarks.push_back(fmt::format("{}the NICs have other hardware ids (guid), on as many cards",
                                       where.empty() ? "" : where + ": "));
}

void addText(plan::Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

// Null for the side that lacks the thing.
plan::Json sideJson(const std::string& text) { return text.empty() ? plan::Json(nullptr) : plan::Json(text); }

plan::Json thingJson(const ChangedThing& thing) {
  plan::Json json = {{"name", thing.name}};
  if (thing.lineA > 0) json["lineA"] = thing.lineA;
  if (thing.lineB > 0) json["lineB"] = thing.lineB;
  return json;
}

plan::Json changeJson(const Change& change) {
  plan::Json json = {{"kind", change.kind}};
  addText(json, "where", change.where);
  addText(json, "what", change.what);
  json["before"] = sideJson(change.before);
  json["after"] = sideJson(change.after);
  addText(json, "whyBefore", change.whyBefore);
  addText(json, "whyAfter", change.whyAfter);
  if (change.outOf > 0) json["outOf"] = change.outOf;
  if (!change.things.empty()) json["things"] = plan::Json::array();
  for (const ChangedThing& thing : change.things) json["things"].push_back(thingJson(thing));
  return json;
}

plan::Json choiceJson(const ChoiceChange& change) {
  plan::Json json = {{"collective", change.collective},
                     {"fromBytes", change.fromBytes},
                     {"toBytes", change.toBytes},
                     {"before", sideJson(change.before)},
                     {"after", sideJson(change.after)}};
  if (change.minRatio > 0) json["timeRatio"] = {change.minRatio, change.maxRatio};
  return json;
}

}  // namespace

void ChangeList::add(Change change, ChangedThing thing) {
  change.where = where_;
  const auto [found, isNew] = known_.emplace(
      Key{change.kind, change.what, change.before, change.after, change.whyBefore, change.whyAfter},
      changes_.size());
  if (isNew) changes_.push_back(std::move(change));
  changes_[found->second].things.push_back(std::move(thing));
}

void ChangeList::appendTo(Changes& changes) {
  std::move(changes_.begin(), changes_.end(), std::back_inserter(changes));
  changes_.clear();
  known_.clear();
}

bool sameNumber(double a, double b) {
  return a == b || std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

std::string shortList(const std::vector<std::string>& words, std::size_t max, const char* between) {
  if (words.size() <= max) return fmt::format("{}", fmt::join(words, between));
  const auto first = static_cast<std::ptrdiff_t>(max - max / 4);
  const auto last = static_cast<std::ptrdiff_t>(max / 4);
  return fmt::format("{} ... {} more ... {}", fmt::join(words.begin(), words.begin() + first, between),
                     words.size() - max, fmt::join(words.end() - last, words.end(), between));
}

std::string ranksText(const std::vector<int>& ranks) {
  std::vector<std::string> words;
  for (int rank : ranks) words.push_back(std::to_string(rank));
  return shortList(words, kMaxRanksNamed, " ");
}

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
    const bool files = a.hosts[i].document != nullptr && b.hosts[i].document != nullptr;
    const Renaming names = files ? findRenaming(*a.hosts[i].document, *b.hosts[i].document) : Renaming();
    const NodeMatch match(a.hosts[i].nodes, b.hosts[i].nodes, files ? &names : nullptr);
    const std::string where = hosts > 1 ? fmt::format("host kind {}", i) : "";
    if (match.gpusByRank() && !a.hosts[i].nodes.empty() && !b.hosts[i].nodes.empty())
      diff.remarks.emplace_back("no GPU has the same bus id on both sides: GPUs are compared by rank");
    if (match.netsByNumber())
      diff.remarks.emplace_back("NICs whose names only one side has are compared by number");
    const int otherGuids = compareMachines(a.hosts[i], b.hosts[i], match, names, where, diff);
    remarkNames(names, otherGuids, where, diff);
    compareReach(a.hosts[i], b.hosts[i], match, where, diff);
    compareGraphs(a.hosts[i].graphs, b.hosts[i].graphs, match, where, diff);
    if (i == 0) compareConnections(a, b, match, diff);
  }
  if (hosts > 1) compareGraphs(a.merged, b.merged, NodeMatch({}, {}), "all hosts", diff);
  compareChoices(a, b, diff);
  remarkOrder(diff);
  return diff;
}

plan::Json toJson(const PlanDiff& diff, const std::string& a, const std::string& b) {
  plan::Json json = {{"format", "xylem-diff-1"}, {"a", a}, {"b", b}, {"samePlan", diff.samePlan()}};
  if (!diff.remarks.empty()) json["remarks"] = diff.remarks;
  const auto add = [&](const char* key, const Changes& changes) {
    for (const Change& change : changes) json[key].push_back(changeJson(change));
  };
  add("asked", diff.asked);
  add("machine", diff.machine);
  add("order", diff.order);
  for (const OtherName& name : diff.names) {
    plan::Json entry = {{"kind", name.kind}, {"a", name.inA}, {"b", name.inB}};
    addText(entry, "where", name.where);
    json["names"].push_back(std::move(entry));
  }
  add("links", diff.links);
  add("ranks", diff.ranks);
  add("paths", diff.paths);
  add("decisions", diff.decisions);
  add("channels", diff.channels);
  add("connections", diff.connections);
  for (const ChoiceChange& change : diff.choices) json["choices"].push_back(choiceJson(change));
  return json;
}

}  // namespace xylem::diff

namespace xylem {

std::string JobPlan::diff(const JobPlan& other, const std::string& nameOfThis,
                          const std::string& nameOfOther) const {
  return guarded([&] {
    const diff::PlanFacts before = diff::factsOf(state().plan, state().request);
    const diff::PlanFacts after = diff::factsOf(other.state().plan, other.state().request);
    return plan::jsonText(diff::toJson(diff::comparePlans(before, after), nameOfThis, nameOfOther));
  });
}

}  // namespace xylem
