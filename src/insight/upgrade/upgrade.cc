#include "insight/upgrade/upgrade.h"

#include <algorithm>
#include <functional>
#include <map>

#include "core/error.h"
#include "planner/plan/plan_json.h"
#include "planner/tuning/choice.h"

namespace xylem::upgrade {
namespace {

constexpr const char* kParts[] = {"nodes",      "rings",    "trees",        "NVLS",  "CollNet", "NICs",
                                  "transports", "channels", "send/receive", "times", "choice"};
constexpr std::uint64_t kSizes[] = {std::uint64_t{8} << 10, std::uint64_t{1} << 20, std::uint64_t{1} << 30};

// The parts of a plan: a hash of the decisions of each.
using Parts = std::map<std::string, std::size_t>;

struct Decided {
  Parts parts;
  std::string error;
  std::vector<double> times;

  std::size_t part(const std::string& name) const {
    const auto found = parts.find(name);
    return found == parts.end() ? 0 : found->second;
  }
};

// The part that an entry of a rank's connections belongs to.
const char* partOfRank(std::string_view key) {
  if (key.starts_with("collnet")) return "CollNet";
  if (key.starts_with("nvls")) return "NVLS";
  if (key.starts_with("tree")) return "trees";
  if (key == "ringTransport") return "transports";
  return key.starts_with("ringNet") || key == "p2pNet" ? "NICs" : "nodes";
}

// Takes from a plan in JSON what is decided. Descriptions of the machine and counts of a search's effort are left out: they
// differ between versions although nothing else does.
Parts partsOf(plan::Json plan) {
  for (const char* key : {"host", "connections", "tuning", "job", "merged"})
    if (!plan.contains(key)) plan[key] = plan::Json::object();
  std::map<std::string, std::string> texts;
  const auto add = [&](const char* part, const plan::Json& json) { texts[part] += plan::jsonText(json); };
  for (auto& [kind, graph] : plan["host"]["graphs"].items()) {
    for (const char* effort : {"nHops", "searchSteps", "searches", "timeouts"}) graph.erase(effort);
    const bool collnet = kind.starts_with("collnet");
    add(kind == "ring" ? "rings" : kind == "tree" ? "trees" : collnet ? "CollNet" : "NVLS", graph);
  }
  add("transports", plan["host"]["p2p"]);
  plan::Json& connections = plan["connections"];
  for (const plan::Json& rank : connections["ranks"])
    for (const auto& [key, value] : rank.items()) add(partOfRank(key), value);
  for (const char* key : {"p2pChannels", "p2pChannelsPerPeer"}) add("send/receive", connections[key]);
  add("channels", connections["nChannels"]);
  add("channels", connections["nvlsChannels"]);
  add("rings", connections["rings"]);
  add("times", plan["tuning"]["model"]);
  for (const auto& [collective, sizes] : plan["tuning"]["choice"].items())
    for (const plan::Json& choice : sizes) {
      add("times", choice["time"]);
      for (const char* key : {"algorithm", "protocol", "channels", "warps"})
        if (choice.contains(key)) add("choice", choice[key]);
    }
  add("nodes", plan["job"]);
  Parts parts;
  for (const auto& [part, text] : texts) parts[part] = std::hash<std::string>{}(text);
  return parts;
}

// Newer versions of NCCL fail where a job of several hosts has no NIC.
bool needsNics(const plan::Plan& plan) {
  return plan.nccl->fallback == rules::Fallback::kOwnNics && plan.job().hosts() > 1 &&
         plan.hostOf(0).system().count(topology::NodeType::kNet) == 0;
}

class Planner {
 public:
  Planner(const plan::PlanRequest& request, const Settings& settings)
      : request_(request), settings_(settings) {
    request_.decisions = false;
  }

  // By the rules of `from` and some changes. Remembered, since causes are looked for part by part.
  const Decided& planWith(const rules::Version& from, std::span<const rules::Change* const> changes) {
    const auto [known, isNew] = plans_.try_emplace({changes.begin(), changes.end()});
    if (isNew) known->second = plan(rules::rulesWith(from, changes));
    return known->second;
  }

  Decided plan(std::shared_ptr<const rules::RuleSet> rules) {
    request_.nccl = std::move(rules);
    Decided decided;
    try {
      const plan::Plan plan = plan::planJob(request_, settings_);
      // Xylem plans such a job nevertheless.
      if (needsNics(plan)) {
        decided.error = "NCCL fails: several hosts, and the description has no network device";
        return decided;
      }
      decided.parts = partsOf(plan::toJson(plan));
      const tuning::TuningModel& model = plan.tuning[static_cast<std::size_t>(plan.job().viewOf(0))];
      if (plan.job().ranks() == 1) return decided;
      for (const std::uint64_t bytes : kSizes) {
        const tuning::Choice choice =
            tuning::choose(model, {.collective = Collective::kAllReduce, .bytes = bytes});
        decided.times.push_back(choice.best() == nullptr ? 0 : static_cast<double>(choice.best()->time));
      }
    } catch (const Error& error) {
      decided.error = error.what();
    }
    return decided;
  }

 private:
  plan::PlanRequest request_;
  const Settings& settings_;
  std::map<std::vector<const rules::Change*>, Decided> plans_;
};

bool isSame(const Decided& a, const Decided& b) { return a.parts == b.parts && a.error == b.error; }

}  // namespace

Upgrade upgradeOf(const plan::PlanRequest& request, const Settings& settings, const rules::Version& from,
                  const rules::Version& to, bool withSteps) {
  Planner planner(request, settings);
  const Decided before = planner.plan(rules::rulesOf(from));
  const Decided after = planner.plan(rules::rulesOf(to));
  Upgrade upgrade;
  Decided previous = before;
  for (const rules::Version& version : rules::kKnownVersions) {
    if (!withSteps || version <= rules::nearestKnown(from) || version > rules::nearestKnown(to)) continue;
    Decided decided = version == rules::nearestKnown(to) ? after : planner.plan(rules::rulesOf(version));
    if (!isSame(previous, decided)) upgrade.steps.push_back(version);
    previous = std::move(decided);
  }
  upgrade.errorBefore = before.error;
  upgrade.errorAfter = after.error;
  upgrade.differs = !isSame(before, after);
  for (std::size_t i = 0; i < std::min(before.times.size(), after.times.size()); ++i)
    upgrade.times.push_back({kSizes[i], before.times[i], after.times[i]});
  if (!upgrade.differs) return upgrade;
  upgrade.causes = rules::fewestOf(rules::changesBetween(from, to),
                                   [&](auto some) { return isSame(planner.planWith(from, some), after); });
  for (const char* part : kParts)
    if (before.part(part) != after.part(part))
      upgrade.parts.push_back({part, rules::fewestOf(upgrade.causes, [&](auto some) {
                                 return planner.planWith(from, some).part(part) == after.part(part);
                               })});
  return upgrade;
}

}  // namespace xylem::upgrade
