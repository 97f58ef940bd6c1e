#pragma once
// How the operations of one launch share the channels. Each gets a run of channels and a part of its data on
// each of them, so that every channel carries about the same traffic.
//
//   std::vector<Split> splits = splitOverChannels(model, tasks);
//   splits[0].firstChannel, splits[0].low.count   ->   channel 0 moves that many elements
//
// The first and the last channel of a run may carry less of it than those between: the operations before and
// after may share them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/log.h"
#include "planner/tuning/model.h"

namespace xylem::tuning {

// An operation with the choice that was made for it.
struct SplitTask {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint64_t count = 0;  // elements; of one rank for AllGather and ReduceScatter
  std::size_t elementBytes = 1;
  int channels = 1;  // as the choice says
};

// The part of one channel.
struct SplitPiece {
  std::uint64_t count = 0;  // elements
  std::int64_t chunkBytes = 0;
};

struct Split {
  std::size_t task = 0;  // index into the tasks
  int firstChannel = 0, lastChannel = 0;
  SplitPiece low;     // the first channel's
  SplitPiece middle;  // that of each channel between
  SplitPiece high;    // the last channel's, if there are two or more
  // All channels from the first to the last work on `low` together, as CollNet's do.
  bool together = false;
};

// Returns the splits in the order of the launch: plain operations, those with NVLS, with CollNet, with both.
std::vector<Split> splitOverChannels(const TuningModel& model, std::span<const SplitTask> tasks);

// NCCL's line: `AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}`.
LogLine splitLine(const SplitTask& task, const Split& split);

}  // namespace xylem::tuning
