// The planner of the public header (include/xylem/plan.h): converts options, results and errors.

#include "planner/plan/public_plan.h"

#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/plan_log.h"
#include "planner/tuning/choice.h"

namespace xylem {

namespace {

PlannedGraph publicGraph(const search::ChannelGraph& graph, const topology::System& system) {
  PlannedGraph result{search::name(graph.pattern),
                      graph.bwIntra,
                      graph.bwInter,
                      paths::name(graph.typeIntra),
                      paths::name(graph.typeInter),
                      {}};
  for (int c = 0; c < graph.nChannels; ++c) {
    result.channels.emplace_back();
    for (int i = 0; i < graph.gpuCount; ++i)
      result.channels.back().push_back(
          system.gpu(system.node(topology::NodeType::kGpu, graph.gpu(c, i))).rank);
  }
  return result;
}

plan::PlanRequest requestOf(const std::vector<plan::HostRequest>& hosts, bool listed,
                            const PlanOptions& options, const Settings& settings) {
  plan::PlanRequest request;
  request.hosts = hosts;
  request.hostsListed = listed;
  request.offered = {options.nvls, options.collnet};
  request.graphFile = search::graphFileOf(settings);
  if (!options.nccl.empty()) {
    const auto version = rules::parseVersion(options.nccl);
    if (!version)
      throw PlanError(fmt::format("`{}` is no version of NCCL; expected one such as {}", options.nccl,
                                  rules::knownVersionsText()));
    request.nccl = rules::rulesOf(*version);
  }
  return request;
}

plan::HostRequest hosts(topology::Document document, int count) {
  return {std::make_shared<const topology::Document>(std::move(document)), {}, count};
}

Collective collectiveNamed(const std::string& text) {
  for (Collective collective : kAllCollectives)
    if (text == name(collective)) return collective;
  throw PlanError(
      fmt::format("there is no collective `{}`; expected AllReduce, AllGather, ReduceScatter, Broadcast or "
                  "Reduce",
                  text));
}

}  // namespace

PlanError::~PlanError() = default;

std::unique_ptr<JobPlan::State> JobPlan::State::of(const std::vector<plan::HostRequest>& hosts, bool listed,
                                                   const PlanOptions& options) {
  Settings settings = Settings::fromPairs(options.settings);
  plan::PlanRequest request = requestOf(hosts, listed, options, settings);
  plan::Plan plan = plan::planJob(request, settings);
  return std::make_unique<State>(State{std::move(request), std::move(settings), std::move(plan)});
}

JobPlan::JobPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
JobPlan::JobPlan(JobPlan&&) noexcept = default;
JobPlan& JobPlan::operator=(JobPlan&&) noexcept = default;
JobPlan::~JobPlan() = default;

JobPlan JobPlan::ofFile(const std::string& path, const PlanOptions& options) {
  return guarded([&] {
    return JobPlan(State::of({hosts(topology::readTopology(path), options.hosts)}, false, options));
  });
}

JobPlan JobPlan::ofXml(const std::string& xml, const PlanOptions& options) {
  return guarded([&] {
    return JobPlan(State::of({hosts(topology::parseTopology(xml, "(text)"), options.hosts)}, false, options));
  });
}

JobPlan JobPlan::ofHosts(const std::vector<JobHosts>& list, const PlanOptions& options) {
  return guarded([&] {
    std::vector<plan::HostRequest> requests;
    for (const JobHosts& group : list) {
      requests.push_back(hosts(topology::readTopology(group.file), group.count));
      requests.back().gpus = group.gpus;
    }
    return JobPlan(State::of(requests, true, options));
  });
}

int JobPlan::ranks() const { return state_->plan.job().ranks(); }
int JobPlan::nodes() const { return state_->plan.connections.nodes.count(); }
int JobPlan::channels() const { return state_->plan.connections.nChannels(); }

std::vector<int> JobPlan::ring(int channel) const {
  if (channel < 0 || channel >= channels())
    throw std::out_of_range(fmt::format("channel {} of {}", channel, channels()));
  return connect::ringOf(state_->plan.connections, channel);
}

PlannedTree JobPlan::tree(int rank, int channel) const {
  const connect::Connections& c = state_->plan.connections;
  if (rank < 0 || rank >= ranks()) throw std::out_of_range(fmt::format("rank {} of {}", rank, ranks()));
  if (channel < 0 || channel >= c.of(rank).channels.total())
    throw std::out_of_range(fmt::format("channel {} of {}", channel, c.of(rank).channels.total()));
  const connect::TreeLinks links = connect::treeOf(c, rank, channel);
  PlannedTree tree{links.up, {}};
  for (int child : links.down)
    if (child >= 0) tree.down.push_back(child);
  return tree;
}

PlannedChoice JobPlan::choice(const std::string& collective, std::uint64_t bytes) const {
  const tuning::TuningModel& model =
      state_->plan.tuning[static_cast<std::size_t>(state_->plan.job().viewOf(0))];
  const tuning::Choice chosen =
      tuning::choose(model, {.collective = collectiveNamed(collective), .bytes = bytes});
  if (chosen.best() == nullptr)
    throw PlanError(
        fmt::format("nothing can run {}: the settings exclude every algorithm and protocol", collective));
  PlannedChoice choice;
  for (int i = 0; i < chosen.usable; ++i) {
    const tuning::Candidate& candidate = chosen.ranking[static_cast<std::size_t>(i)];
    choice.candidates.push_back({name(candidate.algorithm), name(candidate.protocol), candidate.time});
  }
  static_cast<PlannedCandidate&>(choice) = choice.candidates.front();
  choice.channels = chosen.channels;
  choice.warps = chosen.warps;
  return choice;
}

PlannedGraph JobPlan::ringGraph() const {
  const plan::HostPlan& host = state_->plan.hostOf(0);
  return publicGraph(host.ring(), host.system());
}

PlannedGraph JobPlan::treeGraph() const {
  const plan::HostPlan& host = state_->plan.hostOf(0);
  return publicGraph(host.tree(), host.system());
}

std::string JobPlan::json() const { return plan::jsonText(plan::toJson(state_->plan)); }

std::vector<std::string> JobPlan::log() const {
  std::vector<std::string> lines;
  for (LogLine& line : plan::planLog(state_->plan)) lines.push_back(std::move(line.text));
  return lines;
}

}  // namespace xylem
