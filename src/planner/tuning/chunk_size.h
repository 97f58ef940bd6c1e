#pragma once
// How much an operation moves at a time: small enough that all channels and levels of a tree work at once,
// large enough that a step costs little.
//
//   chunkBytes(model, {.collective = Collective::kAllReduce, .algorithm = Algorithm::kRing,
//                      .protocol = Protocol::kSimple, .bytes = 1 << 30, .channels = 2})   ->   2097152

#include <cstdint>

#include "planner/tuning/model.h"

namespace xylem {

// Slots of a connection's buffer.
constexpr int kBufferSteps = 8;

struct ChunkRequest {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint64_t bytes =
      0;  // of the channels' part of the operation; of all ranks for AllGather, ReduceScatter
  int channels = 1;
};

// Whole grains of the protocol: 16, 1920 or 512 bytes.
std::int64_t chunkBytes(const TuningModel& model, const ChunkRequest& request);

// What the chunk size means for the proxy that drives the network.
struct ProxySteps {
  std::int64_t steps = 0;       // in all
  std::int64_t chunkBytes = 0;  // per round of the pipeline
  std::int64_t sliceBytes = 0;  // per step
};
ProxySteps proxySteps(const TuningModel& model, const ChunkRequest& request);

}  // namespace xylem
