#include "planner/tuning/steps.h"

namespace xylem {

int ringSteps(Collective collective, int ranks) {
  if (collective == Collective::kAllReduce) return 2 * (ranks - 1);
  return gathersOrScatters(collective) ? ranks - 1 : ranks;
}

int ringStepsBetweenNodes(Collective collective, int nodes) {
  return collective == Collective::kAllReduce ? 2 * (nodes - 1) : nodes - 1;
}

}  // namespace xylem
