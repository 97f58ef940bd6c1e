#pragma once
// The hosts of a plan as text: the kinds of hosts that a job consists of, and for one kind its graphs, their
// channels and what the rings cannot use.
//
//   for (const HostKind& kind : hostKinds(plan)) ...   // "dgxh100" on hosts 0-3, "dgxa100" on host 4
//   writeOut(hostText(hostReport(plan, *plan.hostPlans[0]), "a host", terminalOf(stdout)));

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "insight/optimum/optimum.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

// Hosts with the same description, one kind per view of the job (planner/connect/job.h).
struct HostKind {
  // Unique. The description's file without folder and `.xml`, followed by the GPUs if they were listed. "part
  // 2 of" stands before it if the host's GPUs fall into several domains.
  std::string name;
  std::vector<int> hosts, ranks;  // ascending
};

// By view.
std::vector<HostKind> hostKinds(const plan::Plan& plan);

// The compute capabilities of a host: "sm 90", "sm 80 and 90".
std::string smText(const plan::HostPlan& host);

// A host of a plan, with what its graphs are compared with and what they do without.
struct HostReport {
  const plan::HostPlan* host = nullptr;
  std::vector<optimum::PlanBound> bounds;  // of rings and trees
  // Refused decisions about the rings: direct access between neighbours, and GPU Direct RDMA of the NICs at
  // their ends.
  std::vector<paths::Decision> refusals;
};
// The report refers to the plan's host.
HostReport hostReport(const plan::Plan& plan, const plan::HostPlan& host,
                      optimum::Effort effort = optimum::Effort::kFull);

// `which` goes into the headings: "a host", "dgxh100".
std::string hostText(const HostReport& report, const std::string& which, const Terminal& screen);

// The channels of a graph as a table: NETs and ranks.
std::string channelsText(const topology::System& system, const search::ChannelGraph& graph,
                         const Terminal& screen);

}  // namespace xylem::cli
