#pragma once
// The lines a communicator writes while it is made, in NCCL's words.

#include <string>
#include <string_view>

#include "runtime/comm/communicator.h"
#include "runtime/comm/join/init_timer.h"
#include "runtime/comm/join/peer_info.h"
#include "planner/plan/plan.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

// What the communicator was made by, for the log.
enum class MadeBy { kInitRank, kSplit };

// Once per process.
void logVersion(const Logger& log);
// By which interface this process calls others, once per process. Nothing if none can call
// `root`: joining says so.
void logBootstrap(const Logger& log, const Settings& settings, const SocketAddress& root);
// The interfaces that carry data, where they do; once per process.
void logSockets(const Logger& log, const Settings& settings);
void logInitStart(const Logger& log, const void* comm, const Membership& membership,
                  std::uint64_t fingerprint, MadeBy by);
void logInitComplete(const Logger& log, const void* comm, const Membership& membership,
                     std::uint64_t fingerprint, std::uint64_t busId, MadeBy by, const InitTimer& timer);
// Whether anybody reads the lines of plans: making them costs more than throwing them away.
bool plansAreShown(const Logger& log);
// The planner's lines as this rank sees them, up to where ranks connect to each other.
void logPlan(const Logger& log, const void* comm, const Plan& plan, const Neighbourhood& host, int rank);
void logChunkSize(const Logger& log, const Plan& plan, const Settings& settings);
// And from there; `channels` are those that collectives use.
void logTuning(const Logger& log, const Plan& plan, int rank, int channels);

}  // namespace xylem
