#include "insight/whatif/repair.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "planner/paths/locality.h"
#include "planner/paths/reach.h"
#include "planner/plan/host_parts.h"
#include "planner/plan/plan_json.h"
#include "planner/topology/complete.h"

namespace xylem::whatif {
namespace {

// Relative gains below this are rounding.
constexpr double kMinGain = 0.005;

// 1 if `a` is better, -1 if `b` is better, 0 if they are alike. The first number that differs decides.
int compare(const Scores& a, const Scores& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i] * (1 + kMinGain)) return 1;
    if (b[i] > a[i] * (1 + kMinGain)) return -1;
  }
  return 0;
}

// Completes the topology of the request's only kind of host in place.
const topology::Document& completed(plan::PlanRequest& request, const Settings& settings) {
  if (request.hosts.size() != 1)
    throw Error(ResultCode::kInvalidArgument, "a repair of {} kinds of hosts: it takes one",
                request.hosts.size());
  plan::HostRequest& host = request.hosts.front();
  host.topology = std::make_shared<const topology::Document>(
      topology::completeForJob(*host.topology, *plan::rulesFor(request, settings)));
  return *host.topology;
}

// The reason why data between the GPU and the NET goes through host memory; empty if it does not.
std::string noGdr(const paths::Reach& reach, const topology::System& system, topology::NodeId gpu,
                  topology::NodeId net) {
  for (const paths::Direction direction : {paths::Direction::kReceive, paths::Direction::kSend}) {
    const paths::Decision decision = reach.gdr(gpu, net, direction);
    if (!decision.yes) return paths::explain(decision, system).clause();
  }
  return "";
}

// The nearest GPU has the best path type, then the most bandwidth.
void findNearestGpu(const topology::System& system, const paths::PathTable& paths, NetState& state) {
  for (const topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
    const paths::Path& path = paths.path(gpu, state.net);
    if (state.nearestGpu != topology::kNoNode &&
        std::pair(path.type, -path.bandwidth) >= std::pair(state.type, -state.bandwidth))
      continue;
    state.nearestGpu = gpu;
    state.type = path.type;
    state.bandwidth = path.bandwidth;
  }
}

// The part of a path from a GPU to a NET that data of the NET takes whichever GPU it is for: from the first
// CPU on, or, on a path without CPU, from the first switch on. Its links are shared with the NETs beyond
// them.
std::span<const topology::LinkId> sharedPart(const topology::System& system,
                                             std::span<const topology::LinkId> links) {
  for (std::size_t i = 0; i < links.size(); ++i)
    if (system.type(system.link(links[i]).from) == topology::NodeType::kCpu) return links.subspan(i);
  return links.empty() ? links : links.subspan(1);
}

// Divides the bandwidth of each link by the number of NETs whose paths share it, and finds the link of each
// path with the smallest part.
void findNarrowest(const topology::System& system, const paths::PathTable& paths,
                   std::vector<NetState>& states) {
  std::map<topology::LinkId, int> sharers;
  for (const NetState& state : states)
    if (state.nearestGpu != topology::kNoNode)
      for (const topology::LinkId link : sharedPart(system, paths.links(state.nearestGpu, state.net)))
        ++sharers[link];
  for (NetState& state : states) {
    if (state.nearestGpu == topology::kNoNode) continue;
    float least = 0;
    for (const topology::LinkId link : paths.links(state.nearestGpu, state.net)) {
      const int count = sharers.contains(link) ? sharers[link] : 1;
      const float share = system.link(link).bandwidth / static_cast<float>(count);
      if (state.narrowest != topology::kNoLink && share >= least) continue;
      least = share;
      state.narrowest = link;
      state.sharers = count;
    }
  }
}

plan::Json netJson(const topology::System& system, const NetState& state) {
  plan::Json json = {{"net", system.name(state.net)},
                     {"device", system.net(state.net).name},
                     {"used", state.used},
                     {"nearest", nullptr},
                     {"type", paths::name(state.type)},
                     {"bandwidth", state.bandwidth},
                     {"gdr", state.gdr.empty()}};
  if (state.nearestGpu != topology::kNoNode) json["nearest"] = system.name(state.nearestGpu);
  if (state.narrowest != topology::kNoLink) {
    const topology::Link& link = system.link(state.narrowest);
    json["narrowest"] = {{"from", system.name(link.from)},
                         {"to", system.name(link.to)},
                         {"bandwidth", link.bandwidth},
                         {"nets", state.sharers}};
  }
  if (state.twin != topology::kNoNode) json["samePortAs"] = system.name(state.twin);
  if (!state.gdr.empty()) json["whyNoGdr"] = state.gdr;
  return json;
}

}  // namespace

HostNets::HostNets(const plan::Plan& plan) : plan_(plan) {
  if (plan::ranksOfParts(plan, 0).size() > 1) whole_ = plan::wholeHost(plan, 0);
  const topology::System& system = host().system();
  const paths::PathTable& paths = host().paths.paths;
  const paths::Locality locality(system, paths);
  const paths::Reach reach(system, paths, locality, plan.reach);
  const std::map<int, int> rings = plan::ringsByNet(plan, 0);
  for (const topology::NodeId net : system.nodes(topology::NodeType::kNet)) {
    NetState state;
    state.net = net;
    state.used = rings.contains(system.net(net).dev);
    findNearestGpu(system, paths, state);
    if (state.nearestGpu != topology::kNoNode) state.gdr = noGdr(reach, system, state.nearestGpu, net);
    for (const NetState& other : states_)
      if (state.twin == topology::kNoNode && system.net(other.net).asic == system.net(net).asic &&
          system.net(other.net).port == system.net(net).port)
        state.twin = other.net;
    states_.push_back(std::move(state));
  }
  findNarrowest(system, paths, states_);
}

int netsUsed(const plan::Plan& plan) { return static_cast<int>(plan::ringsByNet(plan, 0).size()); }

RepairSearch::RepairSearch(plan::PlanRequest request, Settings settings)
    : request_(std::move(request)), settings_(std::move(settings)) {
  const topology::Document& host = completed(request_, settings_);
  before_ = plan::planJob(request_, settings_);
  scores_ = scoresOf(before_);
  candidates_ = repairCandidates(host, settings_, request_.offered);
}

Edited RepairSearch::with(const RepairCandidate& candidate) const {
  const Edit edit = parseEdit(candidate.edit);
  return applyEdits({*request_.hosts.front().topology, settings_}, std::span(&edit, 1));
}

Edited RepairSearch::withFirst() const { return with(found().front().candidate); }

bool RepairSearch::next() {
  if (tried_ == total()) return false;
  const RepairCandidate& candidate = candidates_[static_cast<std::size_t>(tried_++)];
  try {
    Edited edited = with(candidate);
    plan::PlanRequest request = request_;
    request.hosts.front().topology = std::make_shared<const topology::Document>(std::move(edited.document));
    const plan::Plan plan = plan::planJob(request, edited.settings);
    Scores after = scoresOf(plan);
    if (compare(after, scores_) > 0) found_.push_back({candidate, std::move(after), netsUsed(plan)});
  } catch (const Error&) {
    // A change that makes the job impossible to plan is no repair.
  }
  return true;
}

std::vector<Repair> RepairSearch::found() const {
  std::vector<Repair> ranked = found_;
  // compare() ignores small differences, and so is not transitive. For sorting, scores are rounded to steps
  // of 0.05 GB/s; repairs that are alike by them are ordered by the number of devices they touch.
  const auto step = [](double value) { return static_cast<long>(value * 20 + 0.5); };
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Repair& a, const Repair& b) {
    for (std::size_t i = 0; i < a.after.size(); ++i)
      if (step(a.after[i]) != step(b.after[i])) return a.after[i] > b.after[i];
    return a.candidate.devices < b.candidate.devices;
  });
  return ranked;
}

plan::Json toJson(const RepairSearch& search, const std::string& machine) {
  const plan::Plan& plan = search.before();
  plan::Json nets = plan::Json::array();
  const HostNets host(plan);
  for (const NetState& state : host.states()) nets.push_back(netJson(host.system(), state));
  plan::Json found = plan::Json::array();
  for (const Repair& repair : search.found())
    found.push_back({{"edit", repair.candidate.edit},
                     {"what", repair.candidate.what},
                     {"todo", repair.candidate.todo},
                     {"netsUsed", repair.netsUsed},
                     {"scores", toJson(repair.after)}});
  return {{"format", "xylem-repair-1"},
          {"machine", machine},
          {"ranks", plan.job().ranks()},
          {"hosts", plan.job().hosts()},
          {"nccl", rules::versionText(plan.nccl->version)},
          {"settings", plan::settingsJson(plan)},
          {"scores", toJson(search.scores())},
          {"netsUsed", netsUsed(plan)},
          {"nets", std::move(nets)},
          {"tried", search.tried()},
          {"found", std::move(found)}};
}

}  // namespace xylem::whatif
