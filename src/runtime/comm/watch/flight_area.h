#pragma once
// The flight recorder's memory of this process (flight_layout.h), and who has which slot of it. It stays
// until the process ends, so that dumps and readers never find it gone.
//
//   FlightSlot& slot = takeFlightSlot();
//   ...
//   giveBackFlightSlot(slot);

#include "runtime/comm/watch/flight_layout.h"

namespace xylem {

// Empty and not yet in use. Throws if there is no memory.
FlightSlot& takeFlightSlot();
void giveBackFlightSlot(FlightSlot& slot) noexcept;

// Every area of this process; safe in signal handlers.
void forEachFlightArea(void (*look)(const FlightArea& area, void* context), void* context);

}  // namespace xylem
