#pragma once
// How many channels an operation uses, and how many warps each channel gets: little data gets fewer of both.
//
//   blockSize(model, 8, Algorithm::kRing, Protocol::kLl)   ->   1 channel, 3 warps

#include <cstdint>

#include "planner/tuning/model.h"

namespace xylem::tuning {

constexpr int kWarpThreads = 32;
constexpr int kMaxThreads = 640;  // of a block, which works on one channel

struct BlockSize {
  int channels = 0;
  int warps = 0;
};

BlockSize blockSize(const TuningModel& model, std::uint64_t bytes, Algorithm algorithm, Protocol protocol);

// The threads of a block under large operations; 0 if NCCL's model has no number for the algorithm and
// protocol.
int maxThreads(const TuningInput& input, const TuningOptions& options, Algorithm algorithm,
               Protocol protocol);
// Bytes per thread below which an operation gets fewer channels and threads; 0 for a rank alone.
std::int64_t threadThreshold(const TuningInput& input, const TuningOptions& options, Algorithm algorithm,
                             Protocol protocol);

}  // namespace xylem::tuning
