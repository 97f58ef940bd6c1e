#pragma once
// The lines of NCCL_DEBUG_SUBSYS=TUNING that say how collectives run. Rank 0 writes NCCL's line, with the
// predicted time behind it, when a collective of a new kind or size is issued:
//
//   AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}, predicted 427.1 us
//   AllReduce: 8 Bytes -> one exchange through the memory of the host, without algorithm and channels
//
// NCCL writes its line for every operation. Here an operation takes less than the line would.

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <tuple>

#include "core/log.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/schedule.h"

namespace xylem::comm {

class ChoiceLog {
 public:
  ChoiceLog(std::shared_ptr<const Logger> log, int rank);

  // False on ranks that log nothing, so that they need not prepare what write() reads.
  bool enabled() const { return enabled_; }
  // Logs those collectives of a group that are new.
  void write(std::span<const CommOperation> operations, const Scheduling& scheduling);

 private:
  // Function, type, reduction, elements, and collectives in the group.
  using Kind = std::tuple<Function, DataType, ReduceOp, std::uint64_t, int>;
  bool isNew(const CommOperation& operation, int collectives);

  std::shared_ptr<const Logger> log_;
  const bool enabled_;
  std::set<Kind> seen_;
};

}  // namespace xylem::comm
