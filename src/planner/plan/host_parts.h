#pragma once
// The hosts of a plan as machines. Where NICs are nearer to the GPUs of a host than some of these are to each other, NCCL takes the host
// for several nodes, and the plan has it in parts: each has the GPUs of a node, and all NETs.
//
//   for (const int one : ranksOfParts(plan, 3)) draw(plan.hostOf(one));   // the parts of the host of rank 3
//   ringsByNet(plan, 3)[1]                       ->   how many channels of its rings begin or end at NET 1
//   const HostPlan whole = wholeHost(plan, 3);   // with all its GPUs

#include <map>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::plan {

// The first rank of each part.
std::vector<int> ranksOfParts(const Plan& plan, int rank);
// The channels of all parts, by the numbers of the NETs; those that no ring uses are left out.
std::map<int, int> ringsByNet(const Plan& plan, int rank);
// Without graphs.
HostPlan wholeHost(const Plan& plan, int rank);

}  // namespace xylem::plan
