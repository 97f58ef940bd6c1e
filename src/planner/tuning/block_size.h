#pragma once
// How many channels an operation uses, and how many warps each: little data gets fewer of both.
//
//   blockSize(model, 8, Algorithm::kRing, Protocol::kLl)   ->   1 channel, 3 warps

#include <cstdint>

#include "planner/tuning/model.h"

namespace xylem {

struct BlockSize {
  int channels = 0;
  int warps = 0;
};

BlockSize blockSize(const TuningModel& model, std::uint64_t bytes, Algorithm algorithm, Protocol protocol);

}  // namespace xylem
