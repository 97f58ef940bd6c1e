#pragma once
// The kinds of hosts of a job by name: one per view of the job (planner/connect/job.h), as people listed them.
//
//   for (const HostKind& kind : hostKinds(plan)) ... kind.name, kind.hosts, kind.ranks ...
//
//   dgxh100   hosts 0-3   ranks 0-31
//   dgxa100   hosts 4     ranks 32-39

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::cli {

struct HostKind {
  // The description's file without folder and `.xml`, with the GPUs if they were listed; `part 2 of` is put
  // before it if the host's GPUs fall into several domains. No two kinds have the same.
  std::string name;
  std::vector<int> hosts, ranks;  // ascending
};

// By view.
std::vector<HostKind> hostKinds(const Plan& plan);

// "sm 90", "sm 80 and 90": the compute capabilities of a host of this kind.
std::string smText(const HostPlan& host);

}  // namespace xylem::cli
