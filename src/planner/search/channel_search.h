#pragma once
// The channel graphs of one host. A driver makes one search after the other for each graph: it asks for less
// and less (the same order on all channels, near NICs, bandwidth) until channels are found, then for more
// bandwidth again.
//
//   HostChannels host(system, paths, locality, ChannelOptions::from(settings));
//   HostGraphs graphs = computeGraphs(host, {.nvls = true});                     // all, or one of them:
//   ChannelGraph ring = host.compute({.id = 0, .pattern = Pattern::kRing, .maxChannels = 32});

#include <memory>
#include <span>

#include "planner/paths/locality.h"
#include "planner/paths/path_table.h"
#include "planner/search/channel_graph.h"
#include "planner/topology/system.h"

namespace xylem {
class Settings;
}
namespace xylem::search {

struct GraphFile;

struct ChannelOptions {
  int crossNic = 2;                            // NCCL_CROSS_NIC
  std::shared_ptr<const GraphFile> graphFile;  // the file NCCL_GRAPH_FILE names; null if it is not set

  // Reads all but the graph file.
  static ChannelOptions from(const Settings& settings);
};

// The input of a graph's searches.
struct GraphRequest {
  int id = 0;
  Pattern pattern = Pattern::kRing;
  bool collNet = false;
  int minChannels = 1;
  int maxChannels = 32;
};

// GB/s.
struct HostBandwidth {
  float max = 0;    // of any path to a NET (or GPU, without NETs)
  float total = 0;  // the most any GPU can send
};
HostBandwidth bandwidthOf(const topology::System& system, const paths::PathTable& paths);

// The bandwidths per channel that searches try, in GB/s, highest first. `inter`: the job has NETs.
// `lowestSm`: the lowest compute capability of the host's GPUs.
std::span<const float> searchSpeeds(bool inter, int lowestSm, const rules::RuleSet& rules);

// The most devices of a host that are heads of NVLS by headsOnHost.
constexpr int kMaxHostHeads = 28;

// All graphs of one host. They share the space that they take bandwidth from, so the order in which they are
// computed matters.
class HostChannels {
 public:
  HostChannels(const topology::System& system, const paths::PathTable& paths, const paths::Locality& locality,
               const ChannelOptions& options);
  ~HostChannels();
  HostChannels(const HostChannels&) = delete;
  HostChannels& operator=(const HostChannels&) = delete;

  int gpuCount() const { return gpuCount_; }
  const rules::RuleSet& rules() const { return rules_; }

  ChannelGraph compute(const GraphRequest& request);
  // Whether all devices are cores of the host.
  bool onHostDevices() const;
  // The graph of NVLS on host devices: one channel per device, which is its head. No channels for more than
  // kMaxHostHeads.
  ChannelGraph headsOnHost(const GraphRequest& request) const;

 private:
  struct SearchData;
  ChannelOptions options_;
  std::unique_ptr<SearchData> data_;  // shared by all searches
  const rules::RuleSet& rules_;
  HostBandwidth bandwidth_;
  int lowestSm_ = 0;
  int gpuCount_ = 0;
};

// The abilities of a job beyond rings and trees.
struct GraphOptions {
  bool nvls = false;     // the driver offers multicast through NVSwitches
  bool collnet = false;  // the network reduces
  // Host devices: the memory that they share plays the switch, so that each of them is a head of NVLS.
  bool hostSwitch = false;
};

// Returns what of `offered`, the abilities of the machines, is used: NCCL_NVLS_ENABLE and NCCL_COLLNET_ENABLE
// decide.
GraphOptions graphOptions(const GraphOptions& offered, const Settings& settings);

// Computes all graphs, in NCCL's order.
HostGraphs computeGraphs(HostChannels& channels, const GraphOptions& options);

}  // namespace xylem::search
