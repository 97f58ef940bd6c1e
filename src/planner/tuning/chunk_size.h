#pragma once
// How many bytes an operation moves at a time: few enough that all channels and all levels of a tree work at
// once, enough that the cost of a step stays small beside them.
//
//   chunkBytes(model, {.collective = Collective::kAllReduce, .algorithm = Algorithm::kRing,
//                      .protocol = Protocol::kSimple, .bytes = 1 << 30, .channels = 2})   ->   2097152

#include <cstdint>

#include "planner/tuning/model.h"

namespace xylem::tuning {

constexpr int kBufferSteps = 8;  // slots of a connection's buffer

struct ChunkRequest {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  // The part of the operation that `channels` move; of all ranks together for AllGather and ReduceScatter.
  std::uint64_t bytes = 0;
  int channels = 1;
};

// Returns a multiple of the protocol's grain: 16 bytes for LL, 1920 for LL128, 512 for Simple.
std::int64_t chunkBytes(const TuningModel& model, const ChunkRequest& request);

// The work of the proxy, which drives the network, at this chunk size.
struct ProxySteps {
  std::int64_t steps = 0;       // of the whole operation
  std::int64_t chunkBytes = 0;  // per round of the pipeline
  std::int64_t sliceBytes = 0;  // per step
};
ProxySteps proxySteps(const TuningModel& model, const ChunkRequest& request);

}  // namespace xylem::tuning
