#pragma once
// The last calls of communicators as lines of text: for the log when an operation fails, and for a signal.
//
//   dumpRecords(recorder.ring(), clock, 5, [](std::string_view line, void*) { ... }, nullptr);
//   dumpOnSignal(settings);     // from now on the signal dumps all communicators of the process

#include <string>
#include <string_view>

#include "runtime/comm/watch/record_buffer.h"

namespace xylem {
class Settings;
}
namespace xylem::comm {

using LineSink = void (*)(std::string_view line, void* context);

// Writes the communicator, the rank that it waits for, and its last `most` calls, newest first. Safe in
// signal handlers.
void dumpRecords(const RecordRing& ring, const TickClock& clock, std::size_t most, LineSink sink,
                 void* context);
// The same for a ring of this process, as one text.
std::string dumpRecords(const RecordRing& ring, std::size_t most);

// Installs the handler for XYLEM_DUMP_SIGNAL, once per process. The handler writes to NCCL_DEBUG_FILE, or to
// standard error, and then calls the handler that was there before.
void dumpOnSignal(const Settings& settings);

}  // namespace xylem::comm
