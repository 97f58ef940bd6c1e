#pragma once
// A graph file in place of the search: what the file says of a graph, applied to the machine it is for.
//
//   graph.id = graphId(GraphKind::kRing);
//   loadGraph(file, system, crossNic, graph);
//   if (graph.nChannels == 0) ... search ...
//
// Of several graphs of one id the last one counts. Nothing of the graph's bounds (minChannels, maxChannels)
// comes from the file.

#include "planner/search/graph_file.h"

namespace xylem {

// `crossNic` is NCCL_CROSS_NIC: with 0, graphs whose crossnic is 1 do not count. Throws InputError with file
// and line for devices that are not on this machine and channels that do not hold each GPU once.
void loadGraph(const GraphFile& file, const System& system, int crossNic, ChannelGraph& graph);

}  // namespace xylem
