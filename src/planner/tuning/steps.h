#pragma once
// Steps of ring algorithms: how often each part of the data moves from one rank to the next.

#include "core/kinds.h"

namespace xylem {

// In all, and those of them that cross between nodes where the operation has a step per rank.
int ringSteps(Collective collective, int ranks);
int ringStepsBetweenNodes(Collective collective, int nodes);

}  // namespace xylem
