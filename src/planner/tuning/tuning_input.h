#pragma once
// What the tuning model needs to know of a job, and nothing else: what all ranks agreed on, and a few things
// of the rank that computes it.

#include "planner/search/channel_graph.h"
#include "planner/paths/path_type.h"
#include "planner/topology/system.h"

namespace xylem {

// A graph after the exchange over all ranks, except the first and the last member, which stay each rank's
// own.
struct TuningGraph {
  Pattern pattern = Pattern::kRing;
  int nChannels = 0;
  bool sameChannels = false;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel
  PathType typeIntra = PathType::kLoc, typeInter = PathType::kLoc;
  float latencyInter = 0;  // microseconds
};

struct TuningInput {
  int ranks = 1;
  int nodes = 1;  // as NCCL counts them: what shares a ring inside
  int maxLocalRanks = 1;
  int lowestSm = 0, highestSm = 0;           // over all ranks
  CpuArch arch = CpuArch::kUndefined;        // kMixed if ranks differ
  CpuVendor vendor = CpuVendor::kUndefined;  // likewise
  ByGraphKind<TuningGraph> graphs;
  bool collnet = false;  // CollNet works in this job
  int collnetHeads = 0;
  bool nvls = false;         // NVLink multicast works in this job
  bool hasNvs = false;       // the host has an NVSwitch
  bool hostDevices = false;  // cores in place of GPUs, on every rank: planner/tuning/host_model.h
  int nChannels = 0;         // of the communicator
  int nvlsChannels = 0;
  int nvlsHeads = 0;  // for chunk sizes

  const TuningGraph& graph(GraphKind kind) const { return graphs[kind]; }
  float ranksPerNode() const { return static_cast<float>(ranks) / static_cast<float>(nodes); }
  // The place in tables that tell one node, two nodes and more apart.
  std::size_t nodesColumn() const { return nodes <= 2 ? static_cast<std::size_t>(nodes) - 1 : 2; }
};

}  // namespace xylem
