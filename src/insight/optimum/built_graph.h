#pragma once
// A channel graph of given channels, as fast as the search's own accounting allows.
//
//   std::optional<ChannelGraph> graph = builtGraph(set, like, host);

#include <optional>

#include "insight/optimum/equal_channels.h"

namespace xylem {

// What a graph is built on.
struct BuildHost {
  const System& system;
  const PathTable& paths;
  int crossNic = 2;
  double fastest = 0;  // GB/s of a channel
};

// Takes from `like` all that channels do not decide. Trees get as much bandwidth inside the host as is left,
// up to twice that to the NETs. nullopt: the search would not accept them.
std::optional<ChannelGraph> builtGraph(const ChannelSet& set, const ChannelGraph& like,
                                       const BuildHost& host);

// Whether the links have room for all channels of the graph, counted as the search counts.
bool isAccepted(const ChannelGraph& graph, const System& system, const PathTable& paths);

}  // namespace xylem
