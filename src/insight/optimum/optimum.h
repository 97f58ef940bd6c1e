#pragma once
// How good the channels of a host can be: an upper bound on the bandwidth of any channels, and the best
// channels.
//
//   const Bound bound = boundOf(system, paths, Pattern::kRing, 2);      // bound.bandwidth, bound.cut
//   const Optimum best = findOptimum(system, paths, graphs, options);  // best.graphs, best.ring.best
//
// The bandwidth of a graph is its number of channels times the bandwidth of each, in GB/s, counted as the
// channel search counts: a channel takes its bandwidth from every link of its paths, and the paths are given.
// docs/optimum.md defines the quantity and lists the assumptions.

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/paths/path_table.h"
#include "planner/plan/plan.h"
#include "planner/search/channel_search.h"
#include "planner/topology/system.h"

namespace xylem::optimum {

// Links that every channel has to cross: all links from the near side of the machine to its far side.
struct Cut {
  double bandwidth = 0;  // GB/s, of all its links together
  std::vector<topology::LinkId> links;
  std::vector<int> near, far;  // GPUs by index
  bool networkNear = false;    // in jobs of several hosts: whether the network is on the near side
  bool bothWays = false;       // includes the links back, as a chain may cross either way
};

// A link that limits the linear program: each GB/s more on it would give `weight` GB/s more in total.
struct Bottleneck {
  topology::LinkId link = topology::kNoLink;
  double weight = 0;
};

struct Bound {
  double bandwidth = 0;     // GB/s that no channels exceed together; 0 if there is no limit, or no channel
  Cut cut;                  // the smallest one
  bool cutIsTight = false;  // the bound is the cut's
  // Links that limit the linear program over the given paths; empty if the cut is tight.
  std::vector<Bottleneck> bottlenecks;
  double program = 0;     // GB/s, the bound of the linear program
  std::int64_t work = 0;  // steps spent
};

struct OptimumOptions {
  int crossNic = 2;        // NCCL_CROSS_NIC
  int maxChannels = 32;    // of a graph
  bool keepTypes = false;  // no paths of farther types than those of the search's graph
};

// Returns the bound on channels of this pattern (ring or tree). A host with NETs counts as part of a job of
// several hosts. Without `program` only the cut is computed, which is fast with any number of GPUs.
Bound boundOf(const topology::System& system, const paths::PathTable& paths, search::Pattern pattern,
              int crossNic, bool program = true);

// Returns the GB/s of all channels of a graph together. With `nets` (jobs of several hosts) a channel counts
// with the lesser of its bandwidths inside the host and to the NETs.
double totalBandwidth(const search::ChannelGraph& graph, bool nets);

// The bandwidths of one graph: found by the search, chosen here, and possible at most.
struct GraphOptimum {
  Bound bound;
  double found = 0;       // GB/s of the search's graph
  double best = 0;        // GB/s of the chosen graph, at least `found`
  double ceiling = 0;     // GB/s that no permitted number of equally fast channels exceeds
  bool improved = false;  // the chosen graph is not the search's
};

struct Optimum {
  search::HostGraphs graphs;  // new ring and tree, with equal numbers of channels; the others unchanged
  GraphOptimum ring, tree;
  std::int64_t work = 0;  // steps of the search for orders
};

// Returns the best graphs of a host; `found` are the graphs of the search on it.
Optimum findOptimum(const topology::System& system, const paths::PathTable& paths,
                    const search::HostGraphs& found, const OptimumOptions& options);

// The search's graphs, and all pairs of rings and trees with more bandwidth in one of them that were found:
// with paths of any type and with none farther than the search's, and each improvement alone, too. The best
// come first.
struct Candidates {
  Optimum searched;  // nothing improved
  std::vector<Optimum> better;
};
Candidates findCandidates(const topology::System& system, const paths::PathTable& paths,
                          const search::HostGraphs& found, const OptimumOptions& options);

// The bandwidth of a plan's rings or trees on a kind of host, and the most that any could have.
//
//   for (const PlanBound& bound : boundsOf(plan, host)) ... bound.achieved, bound.bound.bandwidth ...
struct PlanBound {
  search::GraphKind kind = search::GraphKind::kRing;
  double achieved = 0;    // GB/s of all channels together
  bool cutAlone = false;  // more effort may find a smaller bound
  Bound bound;
};

// How much work a bound may cost: the linear program takes milliseconds with up to 8 GPUs, and seconds with 16.
enum class Effort {
  kQuick,  // the linear program up to 8 GPUs, and the cut alone with more
  kFull,   // the linear program up to 16 GPUs
};
// The bound of one graph of a plan, ring or tree; nullopt if nothing limits its channels.
std::optional<PlanBound> boundOf(const plan::Plan& plan, const plan::HostPlan& host, search::GraphKind kind,
                                 Effort effort = Effort::kFull);
// The bounds of rings and of trees.
std::vector<PlanBound> boundsOf(const plan::Plan& plan, const plan::HostPlan& host,
                                Effort effort = Effort::kFull);

}  // namespace xylem::optimum
