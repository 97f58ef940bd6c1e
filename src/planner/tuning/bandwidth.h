#pragma once
// How many bytes of the operation an algorithm moves per time, when messages are large.
//
//   algorithmBandwidth(input, Collective::kAllReduce, Algorithm::kRing, Protocol::kSimple)   ->   6.667 GB/s

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"

namespace xylem {

// In GB/s; not a number or 0 where the graph has no channels. Asks nothing about what is enabled: see
// planner/tuning/exclusion.h.
float algorithmBandwidth(const TuningInput& input, Collective collective, Algorithm algorithm,
                         Protocol protocol);

}  // namespace xylem
