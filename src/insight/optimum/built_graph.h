#pragma once
// Builds a channel graph from a set of channels, as fast as the search's own accounting allows.
//
//   std::optional<ChannelGraph> graph = builtGraph(set, like, host);

#include <optional>

#include "insight/optimum/equal_channels.h"

namespace xylem::optimum {

// The host that a graph is built for.
struct BuildHost {
  const topology::System& system;
  const paths::PathTable& paths;
  int crossNic = 2;
  double fastest = 0;  // GB/s that a channel may have at most
};

// Copies from `like` the fields that channels do not determine. Trees get the free bandwidth inside the host,
// up to twice their bandwidth to the NETs. Returns nullopt if the search would not accept the channels.
std::optional<search::ChannelGraph> builtGraph(const ChannelSet& set, const search::ChannelGraph& like,
                                               const BuildHost& host);

// True if all channels of the graph fit the links, counted as the search counts.
bool isAccepted(const search::ChannelGraph& graph, const topology::System& system,
                const paths::PathTable& paths);

}  // namespace xylem::optimum
