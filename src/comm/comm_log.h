#pragma once
// The lines a communicator writes while it is made, in NCCL's words.

#include <span>
#include <string_view>

#include "comm/communicator.h"

namespace xylem {

// Once per process.
void logVersion(const Logger& log);
void logInitStart(const Logger& log, const void* comm, const Membership& membership);
void logInitComplete(const Logger& log, const void* comm, const Membership& membership, std::uint64_t busId,
                     double seconds);
// The planner's lines (rank 0's view, so rank 0 writes them), and this rank's place in each ring.
void logPlan(const Logger& log, const PlannedJob& job, const Membership& membership);
// `Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct` for each channel.
void logConnections(const Logger& log, const PlannedJob& job, const Membership& membership,
                    std::span<const Peer> peers, std::string_view transport);

}  // namespace xylem
