#pragma once
// The plan of a job: everything the planner decided, with its reasons. planner/plan/planner.h makes plans.
//
//   plan.hostOf(rank).ring().nChannels            ->   the ring channels inside the rank's host
//   plan.connections.nChannels()                  ->   the channels of the job
//   plan.tuning[plan.job().viewOf(rank)].latency  ->   the model as the rank computes it

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/settings.h"
#include "planner/connect/connections.h"
#include "planner/paths/job_paths.h"
#include "planner/paths/locality.h"
#include "planner/paths/reach.h"
#include "planner/search/channel_search.h"
#include "planner/tuning/model.h"

namespace xylem::plan {

// The plan of one domain of a host. A domain is usually the whole host.
struct HostPlan {
  // The source of the graph: `Node::element` is one of its elements, each with its line in the file.
  std::shared_ptr<const topology::Document> description;
  paths::HostPaths paths;    // the trimmed graph, its paths and the decisions on them
  float maxBandwidth = 0;    // GB/s, the highest of all paths to a NET, or to a GPU if there is no NET
  float totalBandwidth = 0;  // GB/s, the most that any GPU can send
  search::HostGraphs graphs;

  const topology::System& system() const { return paths.system; }
  const search::ChannelGraph& ring() const { return graphs[search::GraphKind::kRing]; }
  const search::ChannelGraph& tree() const { return graphs[search::GraphKind::kTree]; }
};

// Equal hosts of a job that follow each other.
struct HostGroup {
  std::string topology;   // the description's file name
  std::vector<int> gpus;  // the requested GPUs' device numbers; empty for all, as described
  int count = 1;          // hosts
  int firstHost = 0;
  std::vector<int> devices;  // the GPU's device number, by local rank
  std::size_t request = 0;   // the host request that it comes from
};

struct Plan {
  // The request.
  std::vector<HostGroup> groups;
  bool hostsListed = false;      // the request lists hosts one by one instead of N of one kind
  bool fused = false;            // hosts are described as their ranks would detect them
  search::GraphOptions offered;  // abilities of the machines besides rings and trees
  std::vector<std::pair<std::string, std::string>> settings;  // those the user set, in the table's order
  std::shared_ptr<const rules::RuleSet> nccl;  // the rules by which the plan is made; never null
  paths::ReachOptions reach;

  // The decisions. Each domain of each kind of host is planned once.
  std::vector<std::unique_ptr<const HostPlan>> hostPlans;  // by view of the job
  connect::Connections connections;
  std::vector<tuning::TuningModel> tuning;  // by view
  bool allNvlink = false;                   // every pair of the first rank's GPUs is joined by NVLink

  const connect::Job& job() const { return connections.job; }
  const HostPlan& hostOf(int rank) const { return *hostPlans[static_cast<std::size_t>(job().viewOf(rank))]; }
};

}  // namespace xylem::plan
