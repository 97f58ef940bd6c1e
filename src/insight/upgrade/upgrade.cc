#include "insight/upgrade/upgrade.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "planner/plan/plan_json.h"
#include "planner/tuning/choice.h"

namespace xylem::upgrade {
namespace {

constexpr const char* kParts[] = {"nodes",      "rings",    "trees",        "NVLS",  "CollNet", "NICs",
                                  "transports", "channels", "send/receive", "times", "choice"};
constexpr std::uint64_t kSizes[] = {std::uint64_t{8} << 10, std::uint64_t{1} << 20, std::uint64_t{1} << 30};

// The parts of a plan, each as the text of its decisions.
using Parts = std::map<std::string, std::string>;

struct Decided {
  Parts parts;
  std::string error;
  std::vector<double> times;
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
  Parts parts;
  const auto add = [&](const char* part, const plan::Json& json) { parts[part] += plan::jsonText(json); };
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
};

bool isSame(const Decided& a, const Decided& b) { return a.parts == b.parts && a.error == b.error; }

}  // namespace

Upgrade upgradeOf(const plan::PlanRequest& request, const Settings& settings, const rules::Version& from,
                  const rules::Version& to) {
  Planner planner(request, settings);
  const Decided before = planner.plan(rules::rulesOf(from));
  const Decided after = planner.plan(rules::rulesOf(to));
  Upgrade upgrade;
  Decided previous = before;
  for (const rules::Version& version : rules::kKnownVersions) {
    if (version <= rules::nearestKnown(from) || version > rules::nearestKnown(to)) continue;
    Decided decided = version == rules::nearestKnown(to) ? after : planner.plan(rules::rulesOf(version));
    if (!isSame(previous, decided)) upgrade.steps.push_back(version);
    previous = std::move(decided);
  }
  upgrade.errorBefore = before.error;
  upgrade.errorAfter = after.error;
  upgrade.differs = !isSame(before, after);
  for (const char* part : kParts) {
    const auto textIn = [part](const Decided& decided) {
      const auto found = decided.parts.find(part);
      return found == decided.parts.end() ? "" : found->second;
    };
    if (textIn(before) != textIn(after)) upgrade.parts.emplace_back(part);
  }
  for (std::size_t i = 0; i < std::min(before.times.size(), after.times.size()); ++i)
    upgrade.times.push_back({kSizes[i], before.times[i], after.times[i]});
  if (upgrade.differs)
    upgrade.causes = rules::fewestOf(rules::changesBetween(from, to), [&](auto some) {
      return isSame(planner.plan(rules::rulesWith(from, some)), after);
    });
  return upgrade;
}

}  // namespace xylem::upgrade
