#pragma once
// The whole planner as one call: from the hosts' descriptions and their numbers to the Plan.
//
//   Plan plan = planJob(identicalHosts(readTopology("topologies/dgxh100.xml"), 2), settings);
//   for (int rank : ringOf(plan.connections, 0)) ...   // the ranks of channel 0's ring, from rank 0
//
// Pure: values in, values out. The same input always gives the same plan.

#include <memory>

#include "planner/search/graph_file.h"
#include "core/settings.h"
#include "planner/plan/plan.h"
#include "planner/topology/document.h"

namespace xylem {

// `count` hosts with the same description.
struct HostRequest {
  // gpu elements carry `rank` (0 to n-1 on the host), or document order numbers them.
  std::shared_ptr<const Document> topology;
  // Device numbers of the GPUs of the job, in the order of the host's ranks. The host is then described as
  // its ranks would detect it. Empty: all GPUs, as described.
  std::vector<int> gpus;
  int count = 1;
  // What searchHost() has found, here or elsewhere, to be taken instead of searching again.
  std::shared_ptr<const std::vector<HostGraphs>> searched = nullptr;
};

// Which host the ranks of a job are on, where not each is named.
enum class Placement {
  kBlocks,      // host after host
  kRoundRobin,  // one rank per host in turn
};

struct PlanRequest {
  std::vector<HostRequest> hosts;
  bool hostsListed = false;  // as in Plan
  bool fuse = false;         // describe every host as its ranks would detect it
  bool decisions = true;     // keep those on paths, which grow with the square of the GPUs
  GraphOptions offered;
  // Channels to take instead of searching, as NCCL_GRAPH_FILE names; whoever asks has read the file.
  std::shared_ptr<const GraphFile> graphFile;
  Rules rules = Rules::kNccl;
  Placement placement = Placement::kBlocks;
  // By rank: its host. Empty: by `placement`.
  std::vector<int> hostOfRank;
};

// Host h's ranks are h*n to h*n+n-1.
PlanRequest identicalHosts(Document topology, int count = 1);

// Throws InputError (with file and line) for a description that cannot be planned.
Plan planJob(const PlanRequest& request, const Settings& settings);

// What the plan of a job of so many ranks has to search of a host, most of the work of planning: its graphs,
// by view of the host. It depends on the description, the number of ranks and the settings, and on nothing
// else of the job.
std::vector<HostGraphs> searchHost(const PlanRequest& request, const HostRequest& host, int ranks,
                                   const Settings& settings);

}  // namespace xylem
