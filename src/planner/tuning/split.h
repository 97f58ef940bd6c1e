#pragma once
// How the operations of one launch share the channels: each gets a run of them, and a part of the data on
// each, so that every channel carries about the same traffic.
//
//   std::vector<Split> splits = splitOverChannels(model, tasks);
//   splits[0].firstChannel, splits[0].low.count   ->   channel 0 moves that many elements
//
// The first and the last channel of a run may carry less than those between, as they may be shared with the
// operations before and after.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/log.h"
#include "planner/tuning/model.h"

namespace xylem {

// An operation with the choice that was made for it.
struct SplitTask {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint64_t count = 0;  // elements; of one rank for AllGather and ReduceScatter
  std::size_t elementBytes = 1;
  int channels = 1;  // what the choice gave it
};

// A channel's part.
struct SplitPiece {
  std::uint64_t count = 0;
  std::int64_t chunkBytes = 0;
};

struct Split {
  std::size_t task = 0;  // index into the tasks
  int firstChannel = 0, lastChannel = 0;
  SplitPiece low;     // of the first channel
  SplitPiece middle;  // of each one between
  SplitPiece high;    // of the last channel, if there are two or more
};

// In the order of the launch: plain operations, those with NVLS, with CollNet, with both.
std::vector<Split> splitOverChannels(const TuningModel& model, std::span<const SplitTask> tasks);

// NCCL's line: `AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}`.
LogLine splitLine(const SplitTask& task, const Split& split);

}  // namespace xylem
