#pragma once
// The routes of one channel through its host, in order, each with the portion of the channel's bandwidth that
// the search takes of its links.
//
//   const SearchSpace space(system, paths, locality);
//   const ChannelLoads loads(space, graph);
//   for (const ChannelSegment& segment : segmentsOf(space, graph, 0))
//     for (const RouteStep& step : space.stepsOf(*segment.route))
//       used[step.link] += loads.of(segment.portion).amount(step.share);          // GB/s
//
// A channel of a ring or tree starts at a NET, if the job has any, goes from GPU to GPU, and leaves to a NET
// or closes. In a channel of NVLS or CollNet direct the head exchanges with all other GPUs.

#include <vector>

#include "planner/search/channel_graph.h"
#include "planner/search/search_space.h"

namespace xylem::search {

struct ChannelSegment {
  topology::NodeId from = topology::kNoNode, to = topology::kNoNode;
  const Route* route = nullptr;  // of the space
  Portion portion = Portion::kIntra;
};

// Returns the segments in the order in which data goes. The graph has to be one of this host's GPUs and NETs.
std::vector<ChannelSegment> segmentsOf(const SearchSpace& space, const ChannelGraph& graph, int channel);

}  // namespace xylem::search
