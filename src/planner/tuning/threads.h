#pragma once
// How many threads a channel's block may have, and how little data per thread makes fewer do.

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"
#include "planner/tuning/tuning_options.h"

namespace xylem {

constexpr int kWarpThreads = 32;
// Of a block.
constexpr int kMostThreads = 640;

// 0 for what NCCL gives no block of its own.
int maxThreads(const TuningInput& input, const TuningOptions& options, Algorithm algorithm,
               Protocol protocol);
// Bytes per thread; 0 for a rank alone.
std::int64_t threadThreshold(const TuningInput& input, const TuningOptions& options, Algorithm algorithm,
                             Protocol protocol);

}  // namespace xylem
