#include "plan/planner.h"

#include <algorithm>
#include <utility>

#include "channels/channel_search.h"
#include "core/error.h"
#include "topology/complete.h"
#include "topology/system_builder.h"

namespace xylem {
namespace {

// At most this many ranks in one job: the numbers of ranks stay 32-bit with room to spare.
constexpr int kMaxRanks = 1 << 24;

std::unique_ptr<const HostPlan> planHost(HostPaths paths, const ChannelOptions& options) {
  auto host = std::make_unique<HostPlan>();
  host->paths = std::move(paths);
  const Locality locality(host->system(), host->paths.paths);
  HostChannels channels(host->system(), host->paths.paths, locality, options);
  host->maxBandwidth = channels.maxBandwidth();
  host->totalBandwidth = channels.totalBandwidth();
  host->ring = channels.compute({.id = 0, .pattern = Pattern::kRing, .minChannels = 1, .maxChannels = 32});
  const int n = host->ring.nChannels;
  host->tree =
      channels.compute({.id = 1, .pattern = Pattern::kBalancedTree, .minChannels = n, .maxChannels = n});
  return host;
}

}  // namespace

Plan planJob(const PlanRequest& request, const Settings& settings) {
  if (request.hosts < 1)
    throw Error(ResultCode::kInvalidArgument, "a job of {} hosts: at least 1 is needed", request.hosts);
  const System system = buildSystem(completeForJob(request.topology));
  const int gpus = system.count(NodeType::kGpu);
  if (gpus == 0)
    throw InputError({request.topology.file(), 0}, "no gpu of the job",
                     "at least one gpu element with dev and sm");
  if (request.hosts > kMaxRanks / gpus)
    throw Error(ResultCode::kInvalidArgument, "{} hosts of {} GPUs: at most {} ranks can be planned",
                request.hosts, gpus, kMaxRanks);

  Plan plan;
  plan.topology = request.topology.file();
  plan.hosts = request.hosts;
  for (const SettingSpec& s : settingSpecs())
    if (settings.isSet(s.id)) plan.settings.emplace_back(s.name, settings.text(s.id));
  plan.reach = ReachOptions::from(settings);
  ChannelOptions channelOptions = ChannelOptions::from(settings);
  channelOptions.graphFile = request.graphFile;
  plan.job.hosts = request.hosts;
  plan.job.ranksPerHost = gpus;
  plan.job.viewOfLocalRank.resize(static_cast<std::size_t>(gpus));

  const std::vector<int> domain = domains(system, plan.reach);
  std::vector<int> viewOfDomain(domain.size(), -1);
  for (int rank = 0; rank < gpus; ++rank) {
    const NodeId gpu = system.gpuOfRank(rank);
    const int mine = domain[static_cast<std::size_t>(system.position(gpu))];
    int& view = viewOfDomain[static_cast<std::size_t>(mine)];
    if (view < 0) {
      view = static_cast<int>(plan.hostPlans.size());
      HostPaths paths = pathsOfDomain(system, domain, mine, request.hosts * gpus, plan.reach);
      plan.hostPlans.push_back(planHost(std::move(paths), channelOptions));
      const HostPlan& host = *plan.hostPlans.back();
      plan.job.views.push_back({&host.system(), &host.ring, &host.tree});
    }
    plan.job.viewOfLocalRank[static_cast<std::size_t>(rank)] = view;
    const int sm = system.gpu(gpu).sm;
    plan.lowestSm = rank == 0 ? sm : std::min(plan.lowestSm, sm);
    plan.highestSm = std::max(plan.highestSm, sm);
  }
  plan.connections = connect(plan.job, settings);
  const HostPlan& first = plan.hostOf(0);
  plan.allNvlink = worstType(first.system(), first.paths.paths, NodeType::kGpu) < PathType::kPix;
  return plan;
}

}  // namespace xylem
