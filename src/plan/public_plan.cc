// The public face of the planner (include/xylem/plan.h): converts options, results and errors.

#include "connect/rings.h"
#include "core/error.h"
#include "plan/plan_json.h"
#include "plan/plan_log.h"
#include "plan/planner.h"
#include "xylem/plan.h"

namespace xylem {

struct JobPlan::State {
  Plan plan;
};

namespace {

PlannedGraph publicGraph(const ChannelGraph& graph, const System& system) {
  PlannedGraph result{name(graph.pattern),   graph.bwIntra,         graph.bwInter,
                      name(graph.typeIntra), name(graph.typeInter), {}};
  for (int c = 0; c < graph.nChannels; ++c) {
    result.channels.emplace_back();
    for (int i = 0; i < graph.gpuCount; ++i)
      result.channels.back().push_back(system.gpu(system.node(NodeType::kGpu, graph.gpu(c, i))).rank);
  }
  return result;
}

template <typename Read>
Plan planOf(const Read& read, const PlanOptions& options) try {
  const Settings settings = Settings::fromPairs(options.settings);
  PlanRequest request = identicalHosts(read(), options.hosts);
  request.graphFile = graphFileOf(settings);
  return planJob(request, settings);
} catch (const Error& error) {
  throw PlanError(error.what());
}

}  // namespace

PlanError::~PlanError() = default;

JobPlan::JobPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
JobPlan::JobPlan(JobPlan&&) noexcept = default;
JobPlan& JobPlan::operator=(JobPlan&&) noexcept = default;
JobPlan::~JobPlan() = default;

JobPlan JobPlan::ofFile(const std::string& path, const PlanOptions& options) {
  return JobPlan(std::make_unique<State>(State{planOf([&] { return readTopology(path); }, options)}));
}

JobPlan JobPlan::ofXml(const std::string& xml, const PlanOptions& options) {
  return JobPlan(
      std::make_unique<State>(State{planOf([&] { return parseTopology(xml, "(text)"); }, options)}));
}

int JobPlan::ranks() const { return state_->plan.job().ranks(); }
int JobPlan::nodes() const { return state_->plan.connections.nodes.count(); }
int JobPlan::channels() const { return state_->plan.connections.nChannels(); }

std::vector<int> JobPlan::ring(int channel) const {
  if (channel < 0 || channel >= channels())
    throw std::out_of_range(fmt::format("channel {} of {}", channel, channels()));
  return ringOf(state_->plan.connections, channel);
}

PlannedGraph JobPlan::ringGraph() const {
  const HostPlan& host = state_->plan.hostOf(0);
  return publicGraph(host.ring(), host.system());
}

PlannedGraph JobPlan::treeGraph() const {
  const HostPlan& host = state_->plan.hostOf(0);
  return publicGraph(host.tree(), host.system());
}

std::string JobPlan::json() const { return planToJson(state_->plan); }

std::vector<std::string> JobPlan::log() const {
  std::vector<std::string> lines;
  for (LogLine& line : planLog(state_->plan)) lines.push_back(std::move(line.text));
  return lines;
}

}  // namespace xylem
