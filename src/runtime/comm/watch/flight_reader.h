#pragma once
// Reads the memory of a flight recorder, this process's or another's: bytes of which nothing is believed that
// is not in range.
//
//   const FlightProcess process = readFlightArea(bytes);    // throws ncclInvalidArgument for something else
//   for (const FlightLog& log : process.communicators) ...

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/watch/flight_entry.h"

namespace xylem {

// What one rank of one communicator did last.
struct FlightLog {
  std::uint64_t communicator = 0;
  int rank = 0, ranks = 1, device = 0;
  bool failed = false;
  std::string reason;        // why
  std::uint64_t issued = 0;  // calls so far
  std::uint64_t made = 0;    // ticks
  // What it waits for, if it does, in which call, and since when (ticks).
  FlightWait wait = FlightWait::kNone;
  int waitsFor = -1;  // -1: nobody in particular
  std::uint64_t waitsSince = 0;
  std::optional<FlightEntry> waiting;
  std::vector<FlightEntry> entries;  // the last ones, oldest first
};

struct FlightProcess {
  std::int64_t pid = 0;  // as the process itself sees it
  std::string host;
  FlightMoment start;
  std::vector<FlightLog> communicators;
};

FlightProcess readFlightArea(std::span<const std::byte> bytes);

}  // namespace xylem
