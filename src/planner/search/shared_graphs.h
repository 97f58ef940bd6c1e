#pragma once
// Graphs of a host as bytes: one rank searches, and the other ranks of its host, which would find the same,
// read its graphs.
//
//   std::string bytes = writeGraphs(searched);                 // the graphs of each view of the host
//   std::vector<HostGraphs> graphs = readGraphs(bytes);        // on another rank
//   checkFit(graphs.front(), system);                          // before they are used there
//
// The bytes hold the whole result of the searches, including the list of searches made.

#include <string>
#include <string_view>
#include <vector>

#include "planner/search/channel_graph.h"

namespace xylem::search {

std::string writeGraphs(const std::vector<HostGraphs>& views);

// Throws ncclRemoteError if writeGraphs() cannot have written the bytes.
std::vector<HostGraphs> readGraphs(std::string_view bytes);

// Throws ncclRemoteError if the graphs are not of this machine.
void checkFit(const HostGraphs& graphs, const topology::System& system);

}  // namespace xylem::search
