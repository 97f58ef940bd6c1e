#pragma once
// The input of the tuning model: what all ranks of a job agreed on, and the few facts that each rank takes
// from its own host.
//
//   TuningInput input = tuningInput(plan.connections, plan.job().viewOf(rank));
//   input.graph(graphOf(Algorithm::kRing)).nChannels   ->   the channels of Ring

#include <memory>

#include "core/kinds.h"
#include "planner/paths/path_table.h"
#include "planner/search/channel_graph.h"
#include "planner/topology/system.h"

namespace xylem::connect {
struct Connections;
}
namespace xylem::tuning {

// A graph after all ranks merged theirs. The first and the last member are not merged: NCCL's ranks keep
// their own.
struct TuningGraph {
  search::Pattern pattern = search::Pattern::kRing;
  int nChannels = 0;
  bool sameChannels = false;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel
  paths::PathType typeIntra = paths::PathType::kLoc, typeInter = paths::PathType::kLoc;
  float latencyInter = 0;  // microseconds
};

struct TuningInput {
  std::shared_ptr<const rules::RuleSet> rules;  // of NCCL's version; never null
  int ranks = 1;
  int nodes = 1;  // as NCCL counts them: the ranks of a node share the inner part of a ring
  int maxLocalRanks = 1;
  int lowestSm = 0, highestSm = 0;  // compute capability (major*10+minor) over all ranks
  topology::CpuArch arch = topology::CpuArch::kUndefined;        // kMixed if ranks differ
  topology::CpuVendor vendor = topology::CpuVendor::kUndefined;  // likewise
  search::ByGraphKind<TuningGraph> graphs;
  bool collnet = false;        // CollNet works in this job
  int collnetHeads = 0;        // of a host, with connections to the network
  int collnetDirectHeads = 0;  // of CollNetDirect's channels
  bool collnetChains = true;   // the chains of CollNet start at its heads
  bool nvls = false;           // NVLink multicast works in this job
  bool hasNvs = false;         // the host has an NVSwitch
  bool hostDevices = false;    // every rank runs on cores instead of a GPU: planner/tuning/host_model.h
  int nChannels = 0;           // of the communicator
  int nvlsChannels = 0;
  int nvlsHeads = 0;  // for chunk sizes
  // NVLS's chunks in bytes, where the rules choose them; else 0.
  int nvlsChunkBytes = 0, nvlsTreeChunkBytes = 0;

  const TuningGraph& graph(search::GraphKind kind) const { return graphs[kind]; }
  float ranksPerNode() const { return static_cast<float>(ranks) / static_cast<float>(nodes); }
  // The column of tables with one column each for one node, two nodes and more.
  std::size_t nodesColumn() const { return nodes <= 2 ? static_cast<std::size_t>(nodes) - 1 : 2; }
};

// Returns the input as the ranks of one view of the job compute it. Under Rules::kXylem all views get the
// same input.
TuningInput tuningInput(const connect::Connections& connections, int view);

// Returns the graph whose channels an algorithm uses.
constexpr search::GraphKind graphOf(Algorithm algorithm) {
  constexpr ByAlgorithm<search::GraphKind> kGraphs = {
      search::GraphKind::kTree,         search::GraphKind::kRing, search::GraphKind::kCollnetDirect,
      search::GraphKind::kCollnetChain, search::GraphKind::kNvls, search::GraphKind::kNvls,
      search::GraphKind::kTree};
  return kGraphs[algorithm];
}

}  // namespace xylem::tuning
