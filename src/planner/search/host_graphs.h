#pragma once
// All graphs of one host, in the order in which NCCL computes them.
//
//   HostGraphs graphs = computeGraphs(channels, {.nvls = true});

#include "planner/search/channel_search.h"

namespace xylem {

class Settings;

// What a job can do besides rings and trees: what its machines offer, and what settings leave of it.
struct GraphOptions {
  bool nvls = false;     // the driver offers multicast through NVSwitches
  bool collnet = false;  // the network reduces
};

// `offered` is what the machines can do; NCCL_NVLS_ENABLE and NCCL_COLLNET_ENABLE decide what of it is used.
GraphOptions graphOptions(const GraphOptions& offered, const Settings& settings);

HostGraphs computeGraphs(HostChannels& channels, const GraphOptions& options);

}  // namespace xylem
