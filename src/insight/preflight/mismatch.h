#pragma once
// Finds where the ranks of a job would decide differently: in collectives and their sizes, in transfers (send
// and receive), and in connecting channels.
//
//   for (const CollectiveMismatch& m : collectiveMismatches(plan.tuning))
//     ... m.collective, m.first, m.last (bytes), m.byView[view].algorithm ...
//
// Ranges of sizes are exact, not sampled (planner/tuning/choice_ranges.h).

#include <cstdint>
#include <vector>

#include "insight/preflight/transfer.h"
#include "planner/connect/connections.h"
#include "planner/tuning/choice_ranges.h"

namespace xylem::preflight {

// Kinds of operands for which NCCL chooses algorithms differently.
enum class Operands : std::uint8_t {
  kSum,         // of 32-bit floats; stands for most operands
  kMaximum,     // of 32-bit floats: NVLink multicast cannot compute it
  kSmallFloat,  // a sum of 8-bit floats: NCCL avoids rings of more than eight ranks
  kAverage,     // of 32-bit floats: PAT cannot scatter it
};
const char* name(Operands operands);
tuning::Operation operationOf(Collective collective, Operands operands);

struct CollectiveMismatch {
  Collective collective = Collective::kAllReduce;
  Operands operands = Operands::kSum;
  std::uint64_t first = 0, last = 0;  // bytes, inclusive; for AllGather and ReduceScatter of all ranks
  std::vector<tuning::Pick> byView;

  bool operator==(const CollectiveMismatch&) const = default;
};
// Operands whose mismatches equal those of an earlier kind of operands are left out.
std::vector<CollectiveMismatch> collectiveMismatches(const std::vector<tuning::TuningModel>& tuning);

// A range of sizes of ncclSend and ncclRecv that ranks split differently.
struct TransferMismatch {
  std::uint64_t first = 0, last = 0;  // bytes, inclusive
  std::vector<TransferSplit> byView;
};
std::vector<TransferMismatch> transferMismatches(const connect::Connections& connections,
                                                 const std::vector<tuning::TuningModel>& tuning);

// Numbers that have to be equal on all ranks for channels to connect.
enum class Setup : std::uint8_t { kChannels, kNvlsChannels, kCollnetHeads };
const char* name(Setup setup);
std::vector<Setup> setupMismatches(const connect::Connections& connections);

// A quick test on a few sizes, to reject variants of a job early: true if ranks disagree on any of them.
// False proves nothing.
bool disagreeOnSamples(const connect::Connections& connections,
                       const std::vector<tuning::TuningModel>& tuning);

}  // namespace xylem::preflight
