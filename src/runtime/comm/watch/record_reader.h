#pragma once
// Reads the memory of a flight recorder, this process's or another's. Values out of range are never believed.
//
//   const ProcessRecord process = readRecordBuffer(bytes);    // throws ncclInvalidArgument for other bytes
//   for (const RankRecord& rank : process.communicators) ...

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/watch/call_record.h"

namespace xylem::comm {

// The last calls of one rank of one communicator.
struct RankRecord {
  std::uint64_t communicator = 0;
  int rank = 0, ranks = 1, device = 0;
  bool failed = false;
  std::string reason;        // why it failed
  std::string copies;        // how data moves within its host
  bool joining = false;      // the communicator is still being made
  std::string joinsAt;       // while it is: what the rank waits for; empty: for nothing
  std::uint64_t issued = 0;  // number of calls
  std::uint64_t made = 0;    // ticks
  // Whether it waits; for which rank, since when (ticks) and in which call.
  WaitKind wait = WaitKind::kNone;
  int waitsFor = -1;  // -1: no rank in particular
  std::uint64_t waitsSince = 0;
  std::optional<CallRecord> waiting;
  std::vector<CallRecord> entries;  // the last calls, oldest first
};

struct ProcessRecord {
  std::int64_t pid = 0;  // as the process itself sees it, in its PID namespace
  std::string host;
  ClockReading start;
  std::vector<RankRecord> communicators;
};

ProcessRecord readRecordBuffer(std::span<const std::byte> bytes);

}  // namespace xylem::comm
