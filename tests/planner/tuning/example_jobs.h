#pragma once
// Jobs small enough to follow by hand, as input of the tuning model.
//
//   const TuningModel model = modelOf(twoSmallHosts());

#include <map>
#include <string>

#include "core/settings.h"
#include "planner/tuning/choice.h"
#include "planner/tuning/model.h"
#include "planner_support/rules.h"

namespace xylem::testing {

// Two hosts of two GPUs (sm 70) below a switch with a NIC, Intel CPUs.
inline tuning::TuningInput twoSmallHosts() {
  tuning::TuningInput input{
      .rules = rules225(), .ranks = 4, .nodes = 2, .maxLocalRanks = 2, .lowestSm = 70, .highestSm = 70};
  input.arch = topology::CpuArch::kX86;
  input.vendor = topology::CpuVendor::kIntel;
  tuning::TuningGraph graph{.pattern = search::Pattern::kRing,
                            .nChannels = 1,
                            .sameChannels = true,
                            .bwIntra = 10,
                            .bwInter = 10,
                            .typeIntra = paths::PathType::kPix,
                            .typeInter = paths::PathType::kPix};
  input.graphs[search::GraphKind::kRing] = graph;
  graph.pattern = search::Pattern::kBalancedTree;
  graph.bwIntra = 7;
  graph.bwInter = 7;
  input.graphs[search::GraphKind::kTree] = graph;
  input.nChannels = 2;
  return input;
}

// One host of four GPUs (sm 70) with uneven NVLinks.
inline tuning::TuningInput oneNvlinkHost() {
  tuning::TuningInput input{
      .rules = rules225(), .ranks = 4, .nodes = 1, .maxLocalRanks = 4, .lowestSm = 70, .highestSm = 70};
  input.arch = topology::CpuArch::kX86;
  input.vendor = topology::CpuVendor::kIntel;
  tuning::TuningGraph graph{.pattern = search::Pattern::kRing,
                            .nChannels = 4,
                            .sameChannels = false,
                            .bwIntra = 20,
                            .bwInter = 20,
                            .typeIntra = paths::PathType::kNvl,
                            .typeInter = paths::PathType::kPix};
  input.graphs[search::GraphKind::kRing] = graph;
  graph.pattern = search::Pattern::kBalancedTree;
  graph.bwIntra = 40;
  graph.bwInter = 40;
  input.graphs[search::GraphKind::kTree] = graph;
  input.nChannels = 8;
  return input;
}

// Two hosts of eight GPUs (sm 90) on NVSwitches with multicast, a NIC each, Intel CPUs.
inline tuning::TuningInput twoSwitchedHosts() {
  tuning::TuningInput input{
      .rules = rules225(), .ranks = 16, .nodes = 2, .maxLocalRanks = 8, .lowestSm = 90, .highestSm = 90};
  input.arch = topology::CpuArch::kX86;
  input.vendor = topology::CpuVendor::kIntel;
  tuning::TuningGraph graph{.pattern = search::Pattern::kRing,
                            .nChannels = 8,
                            .sameChannels = false,
                            .bwIntra = 48,
                            .bwInter = 48,
                            .typeIntra = paths::PathType::kNvl,
                            .typeInter = paths::PathType::kPix};
  input.graphs[search::GraphKind::kRing] = graph;
  graph.pattern = search::Pattern::kTree;
  input.graphs[search::GraphKind::kTree] = graph;
  graph.pattern = search::Pattern::kNvls;
  graph.bwIntra = 40;
  input.graphs[search::GraphKind::kNvls] = graph;
  input.nvls = true;
  input.hasNvs = true;
  input.nChannels = 16;
  input.nvlsChannels = 16;
  return input;
}

inline tuning::TuningModel modelOf(const tuning::TuningInput& input,
                                   const std::map<std::string, std::string>& settings = {}) {
  return tuning::computeTuning(input, tuning::TuningOptions::from(Settings::fromPairs(settings)));
}

}  // namespace xylem::testing
