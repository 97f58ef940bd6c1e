#pragma once
// The whole planner as one call: from descriptions of hosts and the number of each to the Plan.
//
//   Plan plan = planJob(identicalHosts(readTopology("topologies/dgxh100.xml"), 2), settings);
//   for (int rank : ringOf(plan.connections, 0)) ...   // the ranks of channel 0's ring, from rank 0
//
// Pure: values in, values out. The same input always gives the same plan.

#include <memory>

#include "core/settings.h"
#include "planner/plan/plan.h"
#include "planner/search/graph_file.h"
#include "planner/topology/document.h"

namespace xylem::plan {

// `count` hosts with the same description.
struct HostRequest {
  // gpu elements have a `rank` (0 to n-1 on the host), or their order in the document numbers them.
  std::shared_ptr<const topology::Document> topology;
  // Device numbers of the job's GPUs, in the order of the host's ranks; the planner then describes the host
  // as its ranks would detect it. Empty for all GPUs, as described.
  std::vector<int> gpus;
  int count = 1;
  // Graphs that searchHost() found, here or on another rank; the planner takes them instead of searching.
  // Null if it must search.
  std::shared_ptr<const std::vector<search::HostGraphs>> searched = nullptr;
};

// Places ranks on hosts if the request does not name the host of each rank.
enum class Placement {
  kBlocks,      // host after host
  kRoundRobin,  // one rank per host in turn
};

struct PlanRequest {
  std::vector<HostRequest> hosts;
  bool hostsListed = false;  // as in Plan
  bool fuse = false;         // describe every host as its ranks would detect it
  // The rules of NCCL's version; null for those that XYLEM_NCCL names.
  std::shared_ptr<const rules::RuleSet> nccl;
  bool splitsDomains = true;  // a description may hold several hosts of an NVLink domain (nvlink_domain.h)
  bool decisions = true;      // keep the decisions on paths, which grow with the square of the GPUs
  search::GraphOptions offered;
  // Channels to take instead of searching; the caller has read the file that NCCL_GRAPH_FILE names. May be
  // null.
  std::shared_ptr<const search::GraphFile> graphFile;
  // The same by view of the job, for hosts whose GPUs fall into several domains; null: `graphFile`.
  std::vector<std::shared_ptr<const search::GraphFile>> graphFileOfView;
  connect::Rules rules = connect::Rules::kNccl;
  Placement placement = Placement::kBlocks;
  // The host of each rank; empty to place ranks by `placement`.
  std::vector<int> hostOfRank;
};

// Requests `count` equal hosts of n GPUs; host h has the ranks h*n to h*n+n-1.
PlanRequest identicalHosts(topology::Document topology, int count = 1);

// The rules of the version that a request, or else XYLEM_NCCL, names, with what variables change in them. Throws InputError for a
// text that is no version.
std::shared_ptr<const rules::RuleSet> rulesFor(const PlanRequest& request, const Settings& settings);

// Throws InputError (with file and line) for a description that cannot be planned.
Plan planJob(const PlanRequest& request, const Settings& settings);

// Searches the graphs of a host for a job of `ranks` ranks, which is most of the work of planning, and
// returns them by view of the host. The result depends on the description, the number of ranks and the
// settings alone, so that one rank of a host can search for all.
std::vector<search::HostGraphs> searchHost(const PlanRequest& request, const HostRequest& host, int ranks,
                                           const Settings& settings);

}  // namespace xylem::plan
