// Facts from the planner. Most of them come from the plan's JSON value, in the same way as those of a file
// (facts_json.cc). Reasons, rings, further ranks and all message sizes are added from the plan itself.
#include "insight/diff/facts.h"

#include <algorithm>
#include <set>

#include "planner/connect/rings.h"
#include "planner/plan/plan_json.h"
#include "planner/tuning/choice.h"

namespace xylem::diff {
namespace {

// Trees and NICs are compared for the ranks of the first hosts, since those of the other hosts repeat them.
constexpr int kMaxHostsCompared = 2;
constexpr int kMaxRanksCompared = 256;
// Ranks in all rings together; larger jobs are compared by the channels inside of hosts alone.
constexpr std::int64_t kMaxRingEntries = 1 << 23;
// Choices are compared for all powers of two in this range.
constexpr std::uint64_t kMinBytes = 8;
constexpr std::uint64_t kMaxBytes = std::uint64_t{8} << 30;

// Asks the rules of a host again to fill in the reasons of decisions, which a plan's JSON lacks.
class Explainer {
 public:
  Explainer(const plan::HostPlan& host, const paths::ReachOptions& options)
      : system_(host.system()),
        locality_(system_, host.paths.paths),
        reach_(system_, host.paths.paths, locality_, options) {
    for (topology::NodeId id = 0; id < system_.nodeCount(); ++id) nodes_[system_.name(id)] = id;
    for (const paths::Decision& decision : host.paths.decisions)
      if (decision.rule == paths::Rule::kPxn && !decision.yes)
        noPxn_[{decision.subject, decision.object}] = paths::explain(decision, system_).clause();
  }

  // Leaves decisions alone whose nodes are not in this view.
  void explainTo(DecisionFacts& decision) const {
    const auto from = nodes_.find(decision.from);
    const auto to = nodes_.find(decision.to);
    if (from == nodes_.end() || to == nodes_.end()) return;
    if (decision.rule == kRuleProxy) {
      const auto noPxn = noPxn_.find({from->second, to->second});
      if (decision.relay.empty() && noPxn != noPxn_.end()) decision.why = noPxn->second;
      return;
    }
    const std::optional<paths::Decision> made = decide(decision.rule, from->second, to->second);
    if (made) decision.why = paths::explain(*made, system_).clause();
  }

 private:
  std::optional<paths::Decision> decide(const std::string& rule, topology::NodeId a,
                                        topology::NodeId b) const {
    if (rule == kRuleP2p) return reach_.p2p(a, b);
    if (rule == kRuleShm) return reach_.transportShm(a, b);
    if (rule == kRuleNetIsBetter) return reach_.netIsBetter(a, b);
    if (rule == kRuleGdrReceive) return reach_.gdr(a, b, paths::Direction::kReceive);
    if (rule == kRuleGdrSend) return reach_.gdr(a, b, paths::Direction::kSend);
    return std::nullopt;
  }

  const topology::System& system_;
  paths::Locality locality_;
  paths::Reach reach_;
  std::map<std::string, topology::NodeId> nodes_;
  std::map<std::pair<topology::NodeId, topology::NodeId>, std::string>
      noPxn_;  // why a GPU sends to a NET itself
};

void explainAll(HostFacts& facts, const plan::HostPlan& host, const paths::ReachOptions& options) {
  const Explainer explainer(host, options);
  for (DecisionFacts& decision : facts.decisions)
    if (decision.why.empty()) explainer.explainTo(decision);
}

// Adds the facts of the host's other views: if GPUs of a host have no better way to each other than the network,
// NCCL plans each group of them as a node of its own.
void addViews(HostFacts& facts, const plan::Plan& plan, int host) {
  const connect::Job& job = plan.job();
  std::set<int> seen = {job.viewOf(job.rank(host, 0))};
  std::set<std::string> known;
  for (const NodeFacts& node : facts.nodes) known.insert(node.name);
  for (int local = 1; local < job.shapeOf(host).ranks(); ++local) {
    const int rank = job.rank(host, local);
    if (!seen.insert(job.viewOf(rank)).second) continue;
    HostFacts view = hostFactsOf(plan::hostJson(plan.hostOf(rank), plan, host));
    explainAll(view, plan.hostOf(rank), plan.reach);
    for (NodeFacts& node : view.nodes)
      if (known.insert(node.name).second) facts.nodes.push_back(std::move(node));
    // Links and paths that views share come twice, which does no harm: comparisons look them up by their
    // ends.
    std::move(view.links.begin(), view.links.end(), std::back_inserter(facts.links));
    std::move(view.paths.begin(), view.paths.end(), std::back_inserter(facts.paths));
    std::move(view.decisions.begin(), view.decisions.end(), std::back_inserter(facts.decisions));
  }
}

void addRings(PlanFacts& facts, const connect::Connections& connections) {
  const std::int64_t numbers = std::int64_t{connections.nChannels()} * connections.job.ranks();
  if (numbers > kMaxRingEntries) return;
  for (int channel = 0; channel < connections.nChannels(); ++channel)
    facts.rings[channel] = connect::ringOf(connections, channel);
}

std::vector<ChoiceFacts> choicesOf(const tuning::TuningModel& model, Collective collective) {
  std::vector<ChoiceFacts> all;
  for (std::uint64_t bytes = kMinBytes; bytes <= kMaxBytes; bytes *= 2) {
    const tuning::Choice choice = tuning::choose(model, {.collective = collective, .bytes = bytes});
    ChoiceFacts facts{.bytes = bytes};
    if (const tuning::Candidate* best = choice.best()) {
      facts.candidate = fmt::format("{} {}", name(best->algorithm), name(best->protocol));
      facts.time = plan::number(best->time);
    }
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace

PlanFacts factsOf(const plan::Plan& plan, const plan::PlanRequest& request) {
  PlanFacts facts = planFactsOf(plan::toJson(plan, 0));
  facts.title = plan.groups.front().topology;
  for (std::size_t i = 0; i < facts.hosts.size(); ++i) {
    facts.hosts[i].topology = plan.groups[i].topology;
    facts.hosts[i].document = request.hosts[plan.groups[i].request].topology;
    explainAll(facts.hosts[i], plan.hostOf(plan.job().rank(plan.groups[i].firstHost, 0)), plan.reach);
    facts.hosts[i].allGpus = true;
    addViews(facts.hosts[i], plan, plan.groups[i].firstHost);
  }
  addRings(facts, plan.connections);
  for (int rank = 1; rank < std::min(plan.job().ranks(), kMaxRanksCompared); ++rank)
    if (plan.job().hostOf(rank) < kMaxHostsCompared) addRankFacts(facts, plan::connectionsJson(plan, rank));
  facts.choices.clear();
  const tuning::TuningModel& model = plan.tuning[static_cast<std::size_t>(plan.job().viewOf(0))];
  for (Collective collective : kAllCollectives)
    facts.choices.emplace_back(name(collective), choicesOf(model, collective));
  return facts;
}

}  // namespace xylem::diff
