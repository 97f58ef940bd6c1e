#include "insight/preflight/preflight.h"

#include <algorithm>

#include "planner/plan/agreement.h"

namespace xylem {

bool Preflight::lacksNics() const {
  return std::any_of(endsWithoutNic.begin(), endsWithoutNic.end(), [](int ends) { return ends > 0; });
}

Preflight preflight(const Plan& plan) {
  Preflight result;
  result.setup = setupMismatches(plan.connections);
  result.collectives = collectiveMismatches(plan.tuning);
  result.transfers = transferMismatches(plan.connections, plan.tuning);
  result.causes = causesOf(plan.connections, plan.tuning);
  result.endsWithoutNic = ringEndsWithoutNic(plan);
  result.remarks = remarksOn(plan);
  return result;
}

}  // namespace xylem
