#include "planner/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "core/error.h"
#include "planner/plan/nvlink_domain.h"
#include "planner/search/shared_graphs.h"
#include "planner/topology/complete.h"
#include "planner/topology/fuse.h"
#include "planner/topology/system_builder.h"
#include "planner/tuning/tuning_input.h"

namespace xylem::plan {
namespace {

// A job has at most this many ranks, so that ranks fit into 32 bits with many to spare.
constexpr int kMaxRanks = 1 << 24;

struct Host {
  std::shared_ptr<const topology::Document> description;
  topology::System system;
  int ranks = 0;
};

topology::Document describe(const HostRequest& request, bool fuse, const rules::RuleSet& rules) {
  if (!request.gpus.empty()) return topology::describeAsRanksWould(*request.topology, request.gpus, rules);
  return fuse ? topology::describeAsRanksWould(*request.topology, rules)
              : topology::completeForJob(*request.topology, rules);
}

Host readHost(const HostRequest& request, const PlanRequest& job,
              const std::shared_ptr<const rules::RuleSet>& rules) {
  if (request.count < 1)
    throw Error(ResultCode::kInvalidArgument, "a job of {} hosts: at least 1 is needed", request.count);
  topology::Document document = describe(request, job.fuse, *rules);
  if (job.offered.collnet) topology::offerCollnet(document);
  Host host{std::make_shared<const topology::Document>(std::move(document))};
  host.system = topology::buildSystem(*host.description, rules);
  host.ranks = host.system.count(topology::NodeType::kGpu);
  if (host.ranks == 0)
    throw InputError({request.topology->file(), 0}, "no gpu of the job",
                     "at least one gpu element with dev and sm");
  return host;
}

// Plans the domains of hosts. Each domain of a host becomes a view of the job; a shape lists the views of the
// host's ranks.
class ShapePlanner {
 public:
  ShapePlanner(Plan& plan, connect::Job& job, const PlanRequest& request, const Settings& settings)
      : plan_(plan),
        job_(job),
        channelOptions_(search::ChannelOptions::from(settings)),
        graphs_(search::graphOptions(request.offered, settings)),
        request_(request) {}

  void dropNvls() { graphs_.nvls = false; }

  // Returns the index of the new shape. `searched`: the graphs by view of the host; null to search them.
  int shapeOf(const Host& described, int jobRanks, const std::vector<search::HostGraphs>* searched) {
    const topology::System& system = described.system;
    const std::vector<int> domain = paths::domains(system, plan_.reach);
    std::vector<int> viewOfDomain(domain.size(), -1);
    connect::HostShape shape;
    std::size_t views = 0;
    for (int local = 0; local < static_cast<int>(domain.size()); ++local) {
      const int mine = domain[static_cast<std::size_t>(system.position(system.gpuOfRank(local)))];
      int& view = viewOfDomain[static_cast<std::size_t>(mine)];
      if (view < 0) {
        paths::HostPaths paths =
            paths::pathsOfDomain(system, domain, mine, jobRanks, plan_.reach, request_.decisions);
        const search::HostGraphs* graphs =
            searched != nullptr && views < searched->size() ? &(*searched)[views] : nullptr;
        ++views;
        view = addView(described.description, std::move(paths), graphs);
      }
      shape.viewOfLocal.push_back(view);
    }
    job_.shapes.push_back(std::move(shape));
    return static_cast<int>(job_.shapes.size()) - 1;
  }

 private:
  int addView(std::shared_ptr<const topology::Document> description, paths::HostPaths paths,
              const search::HostGraphs* searched) {
    auto host = std::make_unique<HostPlan>();
    host->description = std::move(description);
    host->paths = std::move(paths);
    const search::HostBandwidth bandwidth = search::bandwidthOf(host->system(), host->paths.paths);
    host->maxBandwidth = bandwidth.max;
    host->totalBandwidth = bandwidth.total;
    if (searched != nullptr) {
      search::checkFit(*searched, host->system());
      host->graphs = *searched;
    } else {
      const paths::Locality locality(host->system(), host->paths.paths);
      const auto& files = request_.graphFileOfView;
      const std::size_t view = job_.views.size();
      channelOptions_.graphFile =
          view < files.size() && files[view] != nullptr ? files[view] : request_.graphFile;
      search::HostChannels channels(host->system(), host->paths.paths, locality, channelOptions_);
      host->graphs = search::computeGraphs(channels, graphs_);
    }
    job_.views.push_back({&host->system(), &host->paths.paths, &host->graphs});
    plan_.hostPlans.push_back(std::move(host));
    return static_cast<int>(plan_.hostPlans.size()) - 1;
  }

  Plan& plan_;
  connect::Job& job_;
  search::ChannelOptions channelOptions_;
  search::GraphOptions graphs_;
  const PlanRequest& request_;
};

HostGroup describeGroup(const HostRequest& request, const topology::System& system, int firstHost) {
  HostGroup group{request.topology->file(), request.gpus, request.count, firstHost, {}, 0};
  for (int rank = 0; rank < system.count(topology::NodeType::kGpu); ++rank)
    group.devices.push_back(system.gpu(system.gpuOfRank(rank)).dev);
  return group;
}

int countRanks(const PlanRequest& request, const std::vector<Host>& hosts) {
  std::int64_t ranks = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    ranks += std::int64_t{request.hosts[i].count} * hosts[i].ranks;
  if (ranks > kMaxRanks)
    throw Error(ResultCode::kInvalidArgument, "a job of {} ranks: at most {} can be planned", ranks,
                kMaxRanks);
  return static_cast<int>(ranks);
}

// Returns whether the last two ranks of the job are on one GPU, or on parts of one.
bool endsOnOneGpu(const PlanRequest& request, const std::vector<Host>& hosts) {
  const std::vector<int>& placed = request.hostOfRank;
  if (placed.size() > 1 && placed.back() != placed[placed.size() - 2]) return false;
  const bool alone = hosts.size() == 1 && request.hosts.front().count == 1;
  if (placed.empty() && request.placement == Placement::kRoundRobin && !alone) return false;
  std::size_t last = hosts.size() - 1;
  if (!placed.empty())
    for (int before = request.hosts[last = 0].count; before <= placed.back(); ++last)
      before += request.hosts[last + 1].count;
  const topology::System& system = hosts[last].system;
  const int ranks = hosts[last].ranks;
  if (ranks < 2) return false;
  const topology::NodeId a = system.gpuOfRank(ranks - 1);
  const topology::NodeId b = system.gpuOfRank(ranks - 2);
  const bool shared = system.gpu(a).part >= 0 || system.deviceOf(a) == system.deviceOf(b);
  return shared && system.gpu(a).dev == system.gpu(b).dev && system[a].key.system() == system[b].key.system();
}

}  // namespace

PlanRequest identicalHosts(topology::Document topology, int count) {
  PlanRequest request;
  request.hosts.push_back({std::make_shared<const topology::Document>(std::move(topology)), {}, count});
  return request;
}

namespace {

// NCCL_NETDEVS_POLICY: AUTO, ALL or MAX:N in any case; any other text is AUTO.
int netsPerGpu(std::string policy) {
  std::transform(policy.begin(), policy.end(), policy.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (policy == "ALL") return rules::kAllNets;
  constexpr std::string_view kMax = "MAX:";
  int most = 0;
  if (policy.starts_with(kMax))
    std::from_chars(policy.data() + kMax.size(), policy.data() + policy.size(), most);
  return most > 0 ? most : rules::kSharedNets;
}

}  // namespace

// Some variables restore an older rule, or choose what a rule leaves to them.
std::shared_ptr<const rules::RuleSet> rulesFor(const PlanRequest& request, const Settings& settings) {
  auto rules = request.nccl != nullptr ? request.nccl : rules::rulesOf(settings);
  const bool scatters = settings.integer(Setting::kMnnvlScatterNets) != 0;
  const bool ll128 = settings.integer(Setting::kLl128C2c) != 0;
  const int nets = netsPerGpu(settings.text(Setting::kNetDevsPolicy));
  const bool byHost = settings.integer(Setting::kMnnvlRailPerHost) != 0;
  const bool splits = settings.integer(Setting::kTopoSplitMlopart) != 0;
  const bool shares = settings.integer(Setting::kMultiRankGpu) != 0;
  if (scatters && ll128 && nets == rules::kSharedNets && splits && !byHost && !shares) return rules;
  auto own = std::make_shared<rules::RuleSet>(*rules);
  own->scattersNets = own->scattersNets && scatters;
  if (!ll128 && own->ll128OverC2c) own->ll128OverC2c = own->ll128OverPxn = false;
  own->railsByHost = own->readsRailPerHost && byHost;
  own->partsShareGpus = own->splitGpus && !splits;
  own->splitGpus = own->splitGpus && splits;
  own->ranksShareGpus = own->readsMultiRank && shares;
  if (own->netPolicy) own->netsPerGpu = nets;
  return own;
}

Plan planJob(const PlanRequest& request, const Settings& settings) {
  if (request.hosts.empty()) throw Error(ResultCode::kInvalidArgument, "a job without hosts");
  const auto rules = rulesFor(request, settings);
  if (const auto apart = splitDomains(request, *rules, settings, [&](const HostRequest& host) {
        return describe(host, request.fuse, *rules);
      })) {
    Plan plan = planJob(apart->request, settings);
    plan.fused = request.fuse;
    for (HostGroup& group : plan.groups) group.request = apart->origin[group.request];
    return plan;
  }
  Plan plan;
  plan.hostsListed = request.hostsListed;
  plan.fused = request.fuse;
  plan.offered = request.offered;
  for (const SettingSpec& s : settingSpecs())
    if (settings.isSet(s.id) && s.kind != SettingKind::kSecret && s.id != Setting::kNccl)
      plan.settings.emplace_back(s.name, settings.text(s.id));
  plan.nccl = rules;
  plan.reach = paths::ReachOptions::from(settings, *plan.nccl);

  // Hosts first: paths inside a host depend on the number of ranks of the job.
  std::vector<Host> hosts;
  for (const HostRequest& host : request.hosts) hosts.push_back(readHost(host, request, plan.nccl));
  const int ranks = countRanks(request, hosts);
  connect::Job job;
  ShapePlanner shapes(plan, job, request, settings);
  if (plan.nccl->splitGpusEndNvls && endsOnOneGpu(request, hosts)) {
    if (settings.integer(Setting::kNvlsEnable) == 1)
      throw Error(
          ResultCode::kInvalidUsage,
          "NCCL_NVLS_ENABLE=1 in a job whose last two ranks are on one GPU: NCCL {} has no NVLS there; unset "
          "it",
          rules::versionText(plan.nccl->version));
    shapes.dropNvls();
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const HostRequest& asked = request.hosts[i];
    plan.groups.push_back(describeGroup(asked, hosts[i].system, job.hosts()));
    plan.groups.back().request = i;
    // Hosts with the same description and GPUs share the shape of the first one.
    std::size_t same = 0;
    while (request.hosts[same].topology != asked.topology || request.hosts[same].gpus != asked.gpus) ++same;
    const int shape = same < i ? job.shapeOfHost[static_cast<std::size_t>(plan.groups[same].firstHost)]
                               : shapes.shapeOf(hosts[i], ranks, asked.searched.get());
    job.shapeOfHost.insert(job.shapeOfHost.end(), static_cast<std::size_t>(asked.count), shape);
  }
  if (!request.hostOfRank.empty())
    job.place(request.hostOfRank);
  else if (request.placement == Placement::kRoundRobin)
    job.placeRoundRobin();
  else
    job.placeInBlocks();
  connect::ConnectOptions connectOptions = connect::ConnectOptions::from(settings);
  connectOptions.rules = request.rules;
  plan.connections = connect::connect(std::move(job), connectOptions);
  const tuning::TuningOptions tuning = tuning::TuningOptions::from(settings);
  for (std::size_t view = 0; view < plan.hostPlans.size(); ++view)
    plan.tuning.push_back(
        tuning::computeTuning(tuning::tuningInput(plan.connections, static_cast<int>(view)), tuning));
  const auto joinedByNvlink = [](const HostPlan& host) {
    return paths::worstType(host.system(), host.paths.paths, topology::NodeType::kGpu) <
           paths::PathType::kPix;
  };
  plan.allNvlink = joinedByNvlink(plan.hostOf(0));
  if (plan.nccl->allNvlinkByAll)
    for (const auto& host : plan.hostPlans) plan.allNvlink = plan.allNvlink && joinedByNvlink(*host);
  return plan;
}

std::vector<search::HostGraphs> searchHost(const PlanRequest& request, const HostRequest& host, int ranks,
                                           const Settings& settings) {
  Plan plan;
  plan.nccl = rulesFor(request, settings);
  plan.reach = paths::ReachOptions::from(settings, *plan.nccl);
  connect::Job job;
  PlanRequest brief = request;
  brief.decisions = false;
  ShapePlanner(plan, job, brief, settings).shapeOf(readHost(host, request, plan.nccl), ranks, nullptr);
  std::vector<search::HostGraphs> graphs;
  for (const auto& view : plan.hostPlans) graphs.push_back(view->graphs);
  return graphs;
}

}  // namespace xylem::plan
