#pragma once
// Would the ranks of a job agree under NCCL 2.25? NCCL computes some things per rank and does not exchange
// them; on hosts of different kinds they can differ, and ranks that decide differently wait for each other
// for ever.
//
//   Preflight result = preflight(plan);
//   if (result.hangs()) result.remedies = findRemedies(request, settings, plan);
//   for (const CollectiveMismatch& m : result.collectives) ... m.first, m.last, m.byView ...
//
// Finer than agreementOf() (plan/agreement.h), which compares samples, and predicted times with them.

#include <vector>

#include "plan/plan.h"
#include "preflight/cause.h"
#include "preflight/mismatch.h"
#include "preflight/remarks.h"
#include "preflight/remedy.h"

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
