#pragma once
// One process of `xylem perf`: its threads, which each drive some ranks. Either a copy of the command that
// started it, to which it reports over a socket, or a process that a launcher started, in which case rank 0's
// prints what all have found.

#include "cli/perf/message.h"
#include "cli/perf/options.h"
#include "runtime/launch/launched_process.h"

namespace xylem::cli {

// Who wants to know what the ranks say; lists are by rank.
class PerfListener {
 public:
  virtual ~PerfListener() = default;
  // All ranks have joined.
  virtual void joined(const std::vector<PerfMessage>& hellos) = 0;
  // All ranks have finished a case.
  virtual void measured(const PerfCase& c, const std::vector<PerfMessage>& results) = 0;
};

// Process `process` of a job of this command's own: does everything, failures are messages, too. Returns the
// exit status.
int runPerfChild(const PerfOptions& options, int process, int socket);

// The same under a launcher, by whose store or variables the ranks meet. The listener hears only if
// rank 0 is in this process. Returns how many elements were wrong in the whole job; ends the process, with a
// message, if a rank fails.
std::uint64_t runPerfLaunched(const PerfOptions& options, const LaunchedProcess& launch,
                              PerfListener& listener);

}  // namespace xylem::cli
