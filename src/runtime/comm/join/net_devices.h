#pragma once
// The network device of a queue's end at this rank, by the plan.

#include "planner/connect/net_choice.h"
#include "planner/plan/plan.h"

namespace xylem {

// Which transport the plan wants for a pair; the same seen from both ends.
TransportKind plannedTransport(const NetChoice& choice, int rank, int peer);

// The number of the device for a channel of a ring or tree, and for sends and receives; 0 where the plan has
// none.
int collectiveDevice(const NetChoice& choice, const Plan& plan, int rank, int channel, int peer,
                     Direction direction);
int transferDevice(const NetChoice& choice, const Plan& plan, int rank, int peer, int channel,
                   Direction direction);

}  // namespace xylem
