#include "planner/plan/host_parts.h"

#include <set>

#include "planner/paths/job_paths.h"
#include "planner/topology/system_builder.h"

namespace xylem::plan {

std::vector<int> ranksOfParts(const Plan& plan, int rank) {
  const connect::Job& job = plan.job();
  const int host = job.hostOf(rank);
  std::vector<int> ranks;
  std::set<int> views;
  for (int local = 0; local < job.shapeOf(host).ranks(); ++local)
    if (const int one = job.rank(host, local); views.insert(job.viewOf(one)).second) ranks.push_back(one);
  return ranks;
}

std::map<int, int> ringsByNet(const Plan& plan, int rank) {
  std::map<int, int> rings;
  for (const int one : ranksOfParts(plan, rank)) {
    const topology::System& system = plan.hostOf(one).system();
    const search::ChannelGraph& ring = plan.hostOf(one).ring();
    for (int channel = 0; channel < ring.nChannels; ++channel)
      for (const int net : std::set{ring.startNet(channel), ring.endNet(channel)})
        if (net >= 0) ++rings[system.net(system.node(topology::NodeType::kNet, net)).dev];
  }
  return rings;
}

HostPlan wholeHost(const Plan& plan, int rank) {
  HostPlan host;
  host.description = plan.hostOf(rank).description;
  host.paths.system = topology::buildSystem(*host.description, plan.nccl);
  host.paths.paths = paths::findUsablePaths(host.paths.system, plan.reach, &host.paths.decisions);
  return host;
}

}  // namespace xylem::plan
