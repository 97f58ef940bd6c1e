#pragma once
// Where the ranks of a job would decide differently: collectives and sizes, transfers, connecting.
//
//   for (const CollectiveMismatch& m : collectiveMismatches(plan.tuning))
//     ... m.collective, m.first, m.last (bytes), m.byView[view].algorithm ...
//
// The bounds are exact, not those of samples (planner/tuning/choice_ranges.h).

#include <cstdint>
#include <vector>

#include "planner/connect/connections.h"
#include "insight/preflight/transfer.h"
#include "planner/tuning/choice_ranges.h"

namespace xylem {

// Kinds of operands that NCCL chooses differently for.
enum class Operands : std::uint8_t {
  kSum,         // of 32-bit floats; stands for most
  kMaximum,     // of 32-bit floats: nothing that NVLink multicast could do
  kSmallFloat,  // a sum of 8-bit floats: rings of more than eight ranks are avoided
  kAverage,     // of 32-bit floats: PAT cannot scatter it
};
const char* name(Operands operands);
Operation operationOf(Collective collective, Operands operands);

struct CollectiveMismatch {
  Collective collective = Collective::kAllReduce;
  Operands operands = Operands::kSum;
  std::uint64_t first = 0, last = 0;  // bytes, both included; of all ranks for AllGather and ReduceScatter
  std::vector<Pick> byView;

  bool operator==(const CollectiveMismatch&) const = default;
};
// Of operands other than kSum only where they differ from those of kSum.
std::vector<CollectiveMismatch> collectiveMismatches(const std::vector<TuningModel>& tuning);

// Send and receive.
struct TransferMismatch {
  std::uint64_t first = 0, last = 0;  // bytes, both included
  std::vector<TransferSplit> byView;
};
std::vector<TransferMismatch> transferMismatches(const Connections& connections,
                                                 const std::vector<TuningModel>& tuning);

// What the connecting of channels itself depends on.
enum class Setup : std::uint8_t { kChannels, kNvlsChannels, kCollnetHeads };
const char* name(Setup setup);
std::vector<Setup> setupMismatches(const Connections& connections);

// A quick look by a few sizes, for rejecting variants of a job; false says little.
bool disagreeOnSamples(const Connections& connections, const std::vector<TuningModel>& tuning);

}  // namespace xylem
