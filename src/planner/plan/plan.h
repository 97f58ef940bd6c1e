#pragma once
// The plan of a job: everything the planner decided, with its reasons.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/search/host_graphs.h"
#include "planner/connect/connections.h"
#include "core/settings.h"
#include "planner/paths/job_paths.h"
#include "planner/paths/locality.h"
#include "planner/paths/reach.h"
#include "planner/tuning/model.h"

namespace xylem {

// What one domain of a host (usually: the host) was found to be.
struct HostPlan {
  // What the graph was built from: `Node::element` is one of its elements, each with its line in the file.
  std::shared_ptr<const Document> description;
  HostPaths paths;           // the trimmed graph, its paths and the decisions on them
  float maxBandwidth = 0;    // GB/s, of any path to a NET (or GPU, without NETs)
  float totalBandwidth = 0;  // GB/s, the most any GPU sends
  HostGraphs graphs;

  const System& system() const { return paths.system; }
  const ChannelGraph& ring() const { return graphs[GraphKind::kRing]; }
  const ChannelGraph& tree() const { return graphs[GraphKind::kTree]; }
};

// Hosts of a job that follow each other and are alike.
struct HostGroup {
  std::string topology;   // the description's file name
  std::vector<int> gpus;  // the GPUs' device numbers, as asked for; empty: all, as described
  int count = 1;          // hosts
  int firstHost = 0;
  std::vector<int> devices;  // by local rank: the GPU's device number
};

struct Plan {
  // What was asked.
  std::vector<HostGroup> groups;
  bool hostsListed = false;  // one by one, rather than as N of one kind
  bool fused = false;        // descriptions as ranks would detect them
  GraphOptions offered;      // what the machines can do besides rings and trees
  std::vector<std::pair<std::string, std::string>> settings;  // those that were set, in the table's order
  ReachOptions reach;

  // What was decided. Each domain of each kind of host is planned once.
  std::vector<std::unique_ptr<const HostPlan>> hostPlans;  // by view of the job
  Connections connections;
  std::vector<TuningModel> tuning;  // by view
  bool allNvlink = false;           // every pair of the first rank's GPUs is joined by NVLink

  const Job& job() const { return connections.job; }
  const HostPlan& hostOf(int rank) const { return *hostPlans[static_cast<std::size_t>(job().viewOf(rank))]; }
};

}  // namespace xylem
