#pragma once
// The hosts of one description that NCCL plans for together. A description may hold several hosts (cpu elements with different
// `host_hash`): those that NVLink joins into a domain. NCCL then plans for the ranks of a clique of the domain (MNNVL) as for those
// of one host, unless a variable switches that off; a clique is the domain, or a rack (`rack` of cpu elements).
//
//   if (const auto apart = splitDomains(request, rules, settings, describe))
//     ... apart->request has a description per clique or host; its host i is of request.hosts[apart->origin[i]] ...

#include <functional>
#include <optional>
#include <vector>

#include "planner/plan/planner.h"

namespace xylem::plan {

struct SplitRequest {
  PlanRequest request;
  std::vector<std::size_t> origin;  // by host request: the one that it is a part of
};

// Nullopt if NCCL plans for all hosts of each description together. `describe` gives the description of a host request in which
// every GPU of the job has a rank. Throws InputError if cliques are racks and a host names none.
std::optional<SplitRequest> splitDomains(
    const PlanRequest& request, const rules::RuleSet& rules, const Settings& settings,
    const std::function<topology::Document(const HostRequest&)>& describe);

}  // namespace xylem::plan
