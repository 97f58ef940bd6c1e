#pragma once
// What each process of `xylem perf` does, and what it tells the one that started it.

#include <cstdint>

#include "cli/perf_options.h"
#include "core/file_descriptor.h"

namespace xylem::cli {

// One packet between a rank and the process that reports.
struct PerfMessage {
  enum Kind : std::uint32_t {
    kId = 1,   // rank 0 says it; the others are told
    kHello,    // the rank has joined
    kResult,   // of one case
    kFailure,  // text; the rank ends
    kDone,
  };
  struct Timing {
    double microseconds = 0;  // per operation, this rank's
    std::uint64_t wrong = 0;  // elements
  };
  std::uint32_t kind = 0;
  std::int32_t pid = 0;
  std::int32_t device = 0;
  std::uint32_t caseIndex = 0;
  Timing outOfPlace;
  Timing inPlace;
  char text[512] = {};  // kFailure; kHello: the host's name; kId: the id
};

// Does everything, in a process of its own; returns its exit status. Failures are messages, too.
int runPerfRank(const PerfOptions& options, int rank, int socket);

// False if the other end is gone.
bool sendPerf(int socket, const PerfMessage& message);
// Waits. False if the other end is gone.
bool receivePerf(int socket, PerfMessage& message);

}  // namespace xylem::cli
