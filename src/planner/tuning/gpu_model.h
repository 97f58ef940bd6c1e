#pragma once
// NCCL's tuning model of GPUs: how long an operation of no bytes takes, and how many bytes of a large
// operation an algorithm moves per time. planner/tuning/host_model.h has the same two functions for jobs on
// cores.
//
//   gpuLatency(input, options, Collective::kAllReduce, Algorithm::kRing, Protocol::kLl)   ->   16.0 us
//   gpuBandwidth(input, Collective::kAllReduce, Algorithm::kRing, Protocol::kSimple)      ->   6.667 GB/s

#include <string>
#include <vector>

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"
#include "planner/tuning/tuning_options.h"

namespace xylem::tuning {

// In microseconds.
float gpuLatency(const TuningInput& input, const TuningOptions& options, Collective collective,
                 Algorithm algorithm, Protocol protocol);

// A step on the way to a bandwidth, and the GB/s after it.
struct BandwidthTerm {
  std::string text;  // "times 0.92: what Tree reaches"
  float after = 0;
};

// In GB/s of the operation; 0 or not a number if the graph has no channels. Ignores what is enabled:
// planner/tuning/exclusion.h decides that. `terms` gets how it comes about.
float gpuBandwidth(const TuningInput& input, Collective collective, Algorithm algorithm, Protocol protocol,
                   std::vector<BandwidthTerm>* terms = nullptr);

}  // namespace xylem::tuning
