#pragma once
// Would the ranks of a job agree under NCCL 2.25? NCCL computes some things per rank and does not exchange
// them; on hosts of different kinds they can differ, and ranks that decide differently wait for each other
// for ever.
//
//   Preflight result = preflight(plan);
//   if (result.hangs()) result.remedies = findRemedies(request, settings, plan);
//   for (const CollectiveMismatch& m : result.collectives) ... m.first, m.last, m.byView ...
//
// Finer than agreementOf() (planner/plan/agreement.h), which compares samples, and predicted times with them.

#include <vector>

#include "planner/plan/plan.h"
#include "insight/preflight/cause.h"
#include "insight/preflight/mismatch.h"
#include "insight/preflight/remarks.h"
#include "insight/preflight/remedy.h"

namespace xylem {

struct Preflight {
  std::vector<Setup> setup;  // why connecting would not end
  std::vector<CollectiveMismatch> collectives;
  std::vector<TransferMismatch> transfers;
  std::vector<Cause> causes;
  // By view: on how many ends the rings of such a node want a NIC and have none.
  std::vector<int> endsWithoutNic;
  std::vector<Remark> remarks;
  RemedySearch remedies;  // empty until somebody looks for them

  bool disagrees() const { return !setup.empty() || !collectives.empty() || !transfers.empty(); }
  bool lacksNics() const;
  bool isFine() const { return !disagrees() && !lacksNics(); }
};

Preflight preflight(const Plan& plan);

}  // namespace xylem
