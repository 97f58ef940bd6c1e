#pragma once
// Graphs of a host as bytes: what one rank has searched for all ranks of its host, who would find the same.
//
//   std::string bytes = writeGraphs(searched);                 // by view of the host
//   std::vector<HostGraphs> graphs = readGraphs(bytes);        // on another rank
//   checkFit(graphs.front(), system);                          // before they are used there
//
// Everything that a search leaves is in there, what it tried included.

#include <string>
#include <string_view>
#include <vector>

#include "planner/search/channel_graph.h"

namespace xylem {

std::string writeGraphs(const std::vector<HostGraphs>& views);

// Throws ncclRemoteError for what writeGraphs cannot have written.
std::vector<HostGraphs> readGraphs(std::string_view bytes);

// Throws ncclRemoteError if they are not of this machine.
void checkFit(const HostGraphs& graphs, const System& system);

}  // namespace xylem
