// The planner of the public header (include/xylem/plan.h): converts options, results and errors.

#include "planner/plan/public_plan.h"

#include <fmt/ranges.h>

#include <map>

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

// A job that is being read: hosts are added, then it is planned.
class JobReader {
 public:
  explicit JobReader(const PlanOptions& options)
      : options_(options), settings_(Settings::fromPairs(options.settings)) {
    remarks_.warnings = settings_.warnings();
    const std::string& named = options.nccl.empty() ? settings_.text(Setting::kNccl) : options.nccl;
    const auto version = rules::parseVersion(named);
    if (!version && options.nccl.empty()) rules::rulesOf(settings_);  // throws, naming the variable
    if (!version)
      throw PlanError(fmt::format("`{}` is no version of NCCL; expected one such as {}", named,
                                  rules::knownVersionsText()));
    request_.nccl = rules::rulesOf(*version);
    for (std::string& line : plan::versionWarnings(*version, settings_))
      remarks_.warnings.push_back(std::move(line));
  }

  void addFile(const std::string& path, const std::vector<int>& gpus, int count) {
    auto& document = known_[path];
    if (!document) document = used(topology::readTopology(path, &remarks_.warnings));
    request_.hosts.push_back({document, gpus, count});
  }
  void addText(std::string_view xml, int count) {
    request_.hosts.push_back({used(topology::parseTopology(xml, "(text)", &remarks_.warnings)), {}, count});
  }

  // `listed`: the caller lists hosts one by one instead of N of one kind.
  PlannedRequest planned(bool listed) {
    request_.hostsListed = listed;
    plan::addOffers(request_, {options_.nvls, options_.collnet}, settings_, remarks_);
    plan::addGraphFile(request_, settings_, remarks_);
    plan::Plan plan = plan::planJob(request_, settings_);
    return {std::move(request_), std::move(settings_), std::move(plan), std::move(remarks_)};
  }

 private:
  std::shared_ptr<const topology::Document> used(topology::Document document) {
    document = plan::nicsInUse(std::move(document), settings_, remarks_);
    plan::remarkOverrides(document, request_.nccl, remarks_);
    return std::make_shared<const topology::Document>(std::move(document));
  }

  const PlanOptions& options_;
  Settings settings_;
  plan::PlanRequest request_;
  plan::Remarks remarks_;
  std::map<std::string, std::shared_ptr<const topology::Document>> known_;  // by file
};

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

JobPlan::JobPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
JobPlan::JobPlan(JobPlan&&) noexcept = default;
JobPlan& JobPlan::operator=(JobPlan&&) noexcept = default;
JobPlan::~JobPlan() = default;

const JobPlan::State& JobPlan::state() const {
  if (!state_) throw PlanError("this xylem::JobPlan was moved from: it has no plan");
  return *state_;
}

JobPlan JobPlan::ofFile(const std::string& path, const PlanOptions& options) {
  return guarded([&] {
    JobReader job(options);
    job.addFile(path, {}, options.hosts);
    return JobPlan(std::make_unique<State>(State{job.planned(false)}));
  });
}

JobPlan JobPlan::ofXml(const std::string& xml, const PlanOptions& options) {
  return guarded([&] {
    JobReader job(options);
    job.addText(xml, options.hosts);
    return JobPlan(std::make_unique<State>(State{job.planned(false)}));
  });
}

JobPlan JobPlan::ofHosts(const std::vector<JobHosts>& list, const PlanOptions& options) {
  return guarded([&] {
    JobReader job(options);
    for (const JobHosts& group : list) job.addFile(group.file, group.gpus, group.count);
    return JobPlan(std::make_unique<State>(State{job.planned(true)}));
  });
}

const std::vector<std::string>& JobPlan::assumptions() const { return state().remarks.assumptions; }
const std::vector<std::string>& JobPlan::warnings() const { return state().remarks.warnings; }

int JobPlan::ranks() const { return state().plan.job().ranks(); }
int JobPlan::nodes() const { return state().plan.connections.nodes.count(); }
int JobPlan::channels() const { return state().plan.connections.nChannels(); }

std::vector<int> JobPlan::ring(int channel) const {
  if (channel < 0 || channel >= channels())
    throw std::out_of_range(fmt::format("channel {} of {}", channel, channels()));
  return connect::ringOf(state().plan.connections, channel);
}

PlannedTree JobPlan::tree(int rank, int channel) const {
  const connect::Connections& c = state().plan.connections;
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
      state().plan.tuning[static_cast<std::size_t>(state().plan.job().viewOf(0))];
  const tuning::Choice chosen =
      tuning::choose(model, {.collective = collectiveNamed(collective), .bytes = bytes});
  if (chosen.best() == nullptr)
    throw PlanError(fmt::format("nothing can run {}: {}", collective,
                                fmt::join(tuning::exclusionReasons(chosen, model), "; ")));
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
  const plan::HostPlan& host = state().plan.hostOf(0);
  return publicGraph(host.ring(), host.system());
}

PlannedGraph JobPlan::treeGraph() const {
  const plan::HostPlan& host = state().plan.hostOf(0);
  return publicGraph(host.tree(), host.system());
}

std::string JobPlan::json() const {
  plan::Json json = plan::toJson(state().plan);
  json["assumed"] = assumptions();
  return plan::jsonText(json);
}

std::vector<std::string> JobPlan::log() const {
  std::vector<std::string> lines;
  for (LogLine& line : plan::planLog(state().plan)) lines.push_back(std::move(line.text));
  return lines;
}

}  // namespace xylem
