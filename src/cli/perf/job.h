#pragma once
// A run of `xylem perf` over all its processes: either processes that this command starts with the launcher
// of `xylem run`, or one process of a job that another launcher started.
//
//   PerfJob job(options);
//   const int status = job.run(report);                     // starts the processes
//
//   const auto wrong = runPerfLaunched(options, *launch, report);   // is one of the processes
//
// Processes that this command starts are copies of it. Each has a socket to it, over which it receives the id
// to join with and reports its ranks' results. In a launcher's job the ranks exchange the results through
// their communicator instead.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/perf/cases.h"
#include "cli/perf/ranks.h"
#include "cli/run/launcher.h"
#include "core/file_descriptor.h"
#include "runtime/launch/launched_process.h"

namespace xylem::cli {

// Receives the results of all ranks. Lists are by rank.
class PerfListener {
 public:
  virtual ~PerfListener() = default;
  // All ranks have joined.
  virtual void joined(const std::vector<PerfMessage>& hellos) = 0;
  // All ranks have finished a case.
  virtual void measured(const PerfCase& c, const std::vector<PerfMessage>& results) = 0;
};

class PerfJob {
 public:
  // Starts the processes. No other thread may run yet.
  explicit PerfJob(const PerfOptions& options);
  PerfJob(const PerfJob&) = delete;
  PerfJob& operator=(const PerfJob&) = delete;

  // Returns 0, or the status that a signal ended the job with. Throws Error with the rank that failed and its
  // failure.
  int run(PerfListener& listener);
  // Prints on standard output, without ever blocking. For the listener.
  void print(std::string_view text) { launcher_.print(text); }

 private:
  struct Child {
    FileDescriptor socket;  // of datagrams, each a PerfMessage
    bool done = false;      // all its ranks have finished
    bool ended = false;     // the process has ended early
    bool failed = false;
    int failedRank = 0;
    std::string failure;
  };
  struct Rank {
    PerfMessage hello;
    std::vector<PerfMessage> results;
  };
  void start(int process);
  // Reads one message. Returns false at the end of the socket, or if there is no message now.
  bool hear(int process, int receiveFlags);
  void ended(const JobProcess& process);
  void fail(Child& child, int rank, std::string what);
  void onTimeout();
  [[noreturn]] void throwCause() const;
  // Tells the listener what all ranks have reported by now.
  void report();
  std::string missingRanks() const;
  bool allDone() const;
  void restartSilence();

  PerfOptions options_;
  std::vector<PerfCase> cases_;
  Launcher launcher_;
  std::vector<Child> children_;
  std::vector<Rank> ranks_;
  PerfListener* listener_ = nullptr;
  bool announced_ = false;
  std::size_t reported_ = 0;  // cases
  bool failing_ = false;      // a rank has failed, and the others may still say what they saw
};

// Runs this process's ranks in a launcher's job, whose ranks meet through the launcher's store or variables.
// The listener is called in the process of rank 0 only. Returns the number of wrong elements in the whole
// job. If a rank fails, ends the process with a message.
std::uint64_t runPerfLaunched(const PerfOptions& options, const launch::LaunchedProcess& launch,
                              PerfListener& listener);

}  // namespace xylem::cli
