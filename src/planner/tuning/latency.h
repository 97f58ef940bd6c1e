#pragma once
// How long an operation of no bytes takes, in microseconds.
//
//   algorithmLatency(input, options, Collective::kAllReduce, Algorithm::kRing, Protocol::kLl)   ->   16.0

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"
#include "planner/tuning/tuning_options.h"

namespace xylem {

float algorithmLatency(const TuningInput& input, const TuningOptions& options, Collective collective,
                       Algorithm algorithm, Protocol protocol);

}  // namespace xylem
