#pragma once
// The plan of a job: everything the planner decided, with its reasons.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channels/channel_graph.h"
#include "connect/connections.h"
#include "connect/job.h"
#include "core/settings.h"
#include "paths/job_paths.h"
#include "paths/locality.h"
#include "paths/reach.h"

namespace xylem {

// What one domain of a host (usually: the host) was found to be.
struct HostPlan {
  HostPaths paths;           // the trimmed graph, its paths and the decisions on them
  float maxBandwidth = 0;    // GB/s, of any path to a NET (or GPU, without NETs)
  float totalBandwidth = 0;  // GB/s, the most any GPU sends
  ChannelGraph ring, tree;

  const System& system() const { return paths.system; }
};

struct Plan {
  // What was asked.
  std::string topology;  // the description's file name
  int hosts = 1;
  std::vector<std::pair<std::string, std::string>> settings;  // those that were set, in the table's order
  ReachOptions reach;

  // What was decided. All hosts are alike, so each domain of a host is planned once.
  std::vector<std::unique_ptr<const HostPlan>> hostPlans;
  Job job;
  Connections connections;
  int lowestSm = 0, highestSm = 0;  // over all ranks
  bool allNvlink = false;           // every pair of the first rank's GPUs is joined by NVLink

  const HostPlan& hostOf(int rank) const {
    return *hostPlans[static_cast<std::size_t>(
        job.viewOfLocalRank[static_cast<std::size_t>(rank % job.ranksPerHost)])];
  }
};

}  // namespace xylem
