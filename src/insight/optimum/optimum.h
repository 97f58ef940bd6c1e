#pragma once
// How good the channels of a host are: an upper bound on the bandwidth of any, and the best ones.
//
//   const Bound bound = boundOf(system, paths, Pattern::kRing, 2);      // bound.bandwidth, bound.cut
//   const Optimum best = findOptimum(system, paths, graphs, options);  // best.graphs, as a search's
//
// The bandwidth of a graph is its number of channels times the bandwidth of each, in GB/s, as the search adds
// it up: a channel takes its bandwidth from every link of the paths that it uses, and what those paths are is
// given. docs/optimum.md says which quantity that is and what is assumed.

#include <cstdint>
#include <vector>

#include "planner/search/host_graphs.h"
#include "planner/paths/path_table.h"
#include "planner/topology/system.h"

namespace xylem {

// Links that every channel has to cross: those from the GPUs on the near side to those on the far side.
struct Cut {
  double bandwidth = 0;  // GB/s, of all its links together
  std::vector<LinkId> links;
  std::vector<int> near, far;  // GPUs by index
  bool networkNear = false;    // in jobs of several hosts: the network is on the near side
  bool bothWays = false;       // links back are counted, too: a chain may cross either way
};

// A link that limits the program: bandwidth more of it gives `weight` times as much in total.
struct Bottleneck {
  LinkId link = kNoLink;
  double weight = 0;
};

struct Bound {
  double bandwidth = 0;     // GB/s: no channels have more together. 0: nothing limits them, or there are none
  Cut cut;                  // the smallest one
  bool cutIsTight = false;  // the bound is the cut's
  // Of the program over paths as they are given; empty where the cut is tight.
  std::vector<Bottleneck> bottlenecks;
  double program = 0;  // GB/s, of the program
  std::int64_t work = 0;
};

struct OptimumOptions {
  int crossNic = 2;      // NCCL_CROSS_NIC
  int maxChannels = 32;  // of a graph
};

// Of channels of this pattern (ring or tree). Hosts with NETs are taken to be part of a job of several.
// Without `program` only the cut counts, which takes no time with any number of GPUs.
Bound boundOf(const System& system, const PathTable& paths, Pattern pattern, int crossNic,
              bool program = true);

// GB/s that all channels of a graph have together: `nets`, in jobs of several hosts, the lesser of what they
// have inside the host and to the NETs.
double totalBandwidth(const ChannelGraph& graph, bool nets);

// One graph's way to the optimum.
struct GraphOptimum {
  Bound bound;
  double found = 0;       // GB/s, of what the search found
  double best = 0;        // GB/s, of the graph chosen: never less
  double ceiling = 0;     // GB/s: no channels as the graph's (so many, all equally fast) have more
  bool improved = false;  // the graph is not the search's
};

struct Optimum {
  HostGraphs graphs;  // ring and tree, with as many channels each; the others as they were
  GraphOptimum ring, tree;
  std::int64_t work = 0;  // steps of the search for orders
};

// The best graphs of a host on which the search found `found`.
Optimum findOptimum(const System& system, const PathTable& paths, const HostGraphs& found,
                    const OptimumOptions& options);

}  // namespace xylem
