#pragma once
// The driver of the search: from a host's paths to the channel graph of one pattern. It asks for fewer and
// fewer things (same order on all channels, near NICs, bandwidth) until channels are found, then for more
// bandwidth again.
//
//   HostChannels host(system, paths, ChannelOptions::from(settings));
//   ChannelGraph ring = host.compute({.id = 0, .pattern = Pattern::kRing, .minChannels = 1, .maxChannels =
//   32});

#include <memory>

#include "planner/search/channel_graph.h"
#include "planner/search/search.h"
#include "planner/search/search_space.h"
#include "planner/search/terrain.h"

namespace xylem {

class Settings;
struct GraphFile;

struct ChannelOptions {
  int crossNic = 2;                            // NCCL_CROSS_NIC
  std::shared_ptr<const GraphFile> graphFile;  // what NCCL_GRAPH_FILE names, if anything

  // All but the graph file.
  static ChannelOptions from(const Settings& settings);
};

// What a graph is asked to be.
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
HostBandwidth bandwidthOf(const System& system, const PathTable& paths);

// All graphs of one host; they share the space that they take bandwidth from, in the order they are computed.
class HostChannels {
 public:
  HostChannels(const System& system, const PathTable& paths, const Locality& locality,
               const ChannelOptions& options);
  HostChannels(const HostChannels&) = delete;
  HostChannels& operator=(const HostChannels&) = delete;

  int lowestSm() const { return lowestSm_; }
  int gpuCount() const { return space_.gpuCount(); }

  ChannelGraph compute(const GraphRequest& request);

 private:
  ChannelOptions options_;
  SearchSpace space_;
  Terrains terrains_;
  SearchMemory memory_;
  HostBandwidth bandwidth_;
  int lowestSm_ = 0;
};

}  // namespace xylem
