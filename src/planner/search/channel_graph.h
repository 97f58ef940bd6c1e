#pragma once
// The result of the channel search for one pattern on one host: for each channel the order of the GPUs and,
// in jobs of several hosts, the NETs at its two ends.
//
//   const ChannelGraph& ring = graphs[GraphKind::kRing];
//   for (int c = 0; c < ring.nChannels; ++c) ... ring.startNet(c), ring.gpu(c, 0), ring.gpu(c, 1), ...

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/log.h"
#include "planner/paths/path_table.h"
#include "planner/topology/system.h"

namespace xylem::search {

// How a channel goes through the host. The numbers are NCCL's.
enum class Pattern : int {
  kBalancedTree = 1,  // NIC traffic spread over two GPUs (tree parent and one child, second child)
  kSplitTree = 2,     // NIC traffic split over two GPUs (tree parent, tree children)
  kTree = 3,          // all NIC traffic through one GPU
  kRing = 4,
  kNvls = 5,
  kCollnetDirect = 6,
};
const char* name(Pattern pattern);

// The graphs that NCCL computes for a host, in its order.
enum class GraphKind : std::uint8_t { kRing, kTree, kCollnetChain, kCollnetDirect, kNvls };
constexpr int kGraphKinds = 5;
constexpr std::array<GraphKind, kGraphKinds> kAllGraphKinds = {GraphKind::kRing, GraphKind::kTree,
                                                               GraphKind::kCollnetChain,
                                                               GraphKind::kCollnetDirect, GraphKind::kNvls};
// The name in plans in JSON, as `collnetChain`.
const char* name(GraphKind kind);
// NCCL's number of the graph, in graph files and messages.
int graphId(GraphKind kind);

// How a search of the driver differs from the one before.
enum class SearchChange : std::uint8_t {
  kFirst,          // the first search
  kAnyOrder,       // channels may differ in their order of GPUs
  kTreePattern,    // all NIC traffic of a tree through one GPU
  kFartherGpus,    // GPUs may be farther apart
  kFartherNets,    // NETs may be farther from the GPUs
  kCrossNic,       // a channel may enter and leave by different NICs (NCCL_CROSS_NIC)
  kLessBandwidth,  // less bandwidth per channel
  kMoreBandwidth,  // second pass: more bandwidth per channel
};

// Why the driver stopped asking for less.
enum class SearchEnd : std::uint8_t {
  kNotSearched,   // not computed, or loaded from a graph file
  kAllChannels,   // all channels asked for were found
  kAllBandwidth,  // the channels have all the bandwidth that a GPU can send
  kBudget,        // the budget of steps of all searches together ran out
  kNothingToGiveUp,
};

// Whether channels were doubled at half the bandwidth between the two passes.
enum class Duplication : std::uint8_t {
  kNone,  // not searched, or nothing was found
  kDoubled,
  kPattern,  // no: NVLS channels never are
  kTooSlow,  // no: below kDuplicateFrom
  kEnough,   // no: after Ampere, many channels below kDuplicateFromSm90
};
// Channels are doubled if they have at least these bandwidths (GB/s).
constexpr float kDuplicateFrom = 25.0f;
constexpr float kDuplicateFromSm90 = 50.0f;
constexpr int kDuplicateUpTo = 4;  // up to this many channels kDuplicateFromSm90 does not matter

// One search of the driver: its input and its result. `xylem why channels` reads them.
struct SearchAttempt {
  Pattern pattern = Pattern::kRing;
  int pass = 1;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel
  paths::PathType typeIntra = paths::PathType::kLoc, typeInter = paths::PathType::kLoc;
  int crossNic = 0;
  bool sameChannels = false;
  std::int64_t steps = 0;                     // entries of the recursive search
  bool exhausted = false;                     // the budget of steps ran out
  int channelsBefore = 0, channelsAfter = 0;  // channels of the best graph
  SearchChange change = SearchChange::kFirst;
};

struct ChannelGraph {
  int id = 0;
  Pattern pattern = Pattern::kRing;
  int crossNic = 0;
  bool collNet = false;
  int minChannels = 0, maxChannels = 0;
  int nChannels = 0;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel, inside the host and to the NETs
  float latencyInter = 0;          // microseconds, of the NET at which a channel started last
  paths::PathType typeIntra = paths::PathType::kLoc, typeInter = paths::PathType::kLoc;
  bool sameChannels = false;
  int nHops = 0;
  int gpuCount = 0;
  std::vector<int> gpus;  // GPU index of channel c at position i: gpus[c * gpuCount + i]
  std::vector<int> nets;  // NETs of channel c at start and end: nets[2 * c], nets[2 * c + 1]; -1: none

  std::vector<SearchAttempt> attempts;
  std::int64_t searchSteps = 0;
  SearchEnd end = SearchEnd::kNotSearched;  // of the first pass
  Duplication duplication = Duplication::kNone;
  bool fallback = false;    // no channel was found: one has the GPUs in index order
  int loadedChannels = -1;  // channels of it in the graph file; -1 without a graph file

  int gpu(int channel, int position) const {
    return gpus[static_cast<std::size_t>(channel) * static_cast<std::size_t>(gpuCount) +
                static_cast<std::size_t>(position)];
  }
  int startNet(int channel) const { return nets[2 * static_cast<std::size_t>(channel)]; }
  int endNet(int channel) const { return nets[2 * static_cast<std::size_t>(channel) + 1]; }
};

// A host's graphs by kind. A graph that was not computed has no channels.
template <typename T>
class ByGraphKind : public std::array<T, kGraphKinds> {
 public:
  using std::array<T, kGraphKinds>::operator[];
  T& operator[](GraphKind kind) { return (*this)[static_cast<std::size_t>(kind)]; }
  const T& operator[](GraphKind kind) const { return (*this)[static_cast<std::size_t>(kind)]; }
};
using HostGraphs = ByGraphKind<ChannelGraph>;

// NCCL's lines for a graph: `Pattern 4, crossNic 0, nChannels 1, …`, then one line per channel.
std::vector<LogLine> graphLines(const ChannelGraph& graph, const topology::System& system,
                                const topology::RankNames& names = {});

}  // namespace xylem::search
