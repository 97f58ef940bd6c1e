#pragma once
// What communicators did last, as lines of text: for the log when an operation fails, and for a signal.
//
//   dumpFlight(recorder.slot(), clock, 5, [](std::string_view line, void*) { ... }, nullptr);
//   dumpOnSignal(settings);     // from now on the signal writes all communicators of the process

#include <string>
#include <string_view>

#include "runtime/comm/watch/flight_clock.h"
#include "runtime/comm/watch/flight_layout.h"

namespace xylem {

class Settings;

using FlightSink = void (*)(std::string_view line, void* context);

// The communicator, whom it waits for, and its last `most` calls, newest first. Safe in signal handlers.
void dumpFlight(const FlightSlot& slot, const FlightClock& clock, std::size_t most, FlightSink sink,
                void* context);
// The same of this process's recorder, in one text.
std::string dumpFlight(const FlightSlot& slot, std::size_t most);

// Installs the handler that XYLEM_DUMP_SIGNAL asks for, once per process. It writes to NCCL_DEBUG_FILE, or to
// standard error, and then calls the handler that was there before.
void dumpOnSignal(const Settings& settings);

}  // namespace xylem
