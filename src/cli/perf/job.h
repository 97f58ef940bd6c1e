#pragma once
// The processes that `xylem perf` starts when no launcher did: passes the id round, collects what their ranks
// report, and makes sure that none outlives the job.
//
//   PerfJob job(options);
//   job.run(report);        // throws Error naming the rank that failed and how it ended

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/perf/message.h"
#include "cli/perf/options.h"
#include "cli/perf/process.h"
#include "core/deadline.h"
#include "core/file_descriptor.h"

namespace xylem::cli {

class PerfJob {
 public:
  // Starts the processes. Nothing else may run in this process yet: they are copies of it.
  explicit PerfJob(const PerfOptions& options);
  // Kills what is left.
  ~PerfJob();
  PerfJob(const PerfJob&) = delete;
  PerfJob& operator=(const PerfJob&) = delete;

  void run(PerfListener& listener);

 private:
  struct Child {
    pid_t pid = -1;
    FileDescriptor socket;
    bool done = false;
    bool failed = false;
    int failedRank = 0;
    std::string failure;
  };
  struct Rank {
    PerfMessage hello;
    std::vector<PerfMessage> results;
  };
  void start(int process);
  [[noreturn]] void runChild(int process, int socket, pid_t parent) const;
  void listen(int milliseconds);
  void hear(int process);
  // Tells the listener what all ranks have said by now.
  void report(PerfListener& listener);
  // Throws if a rank failed, after a moment in which the others may say what they saw.
  void checkFailures();
  std::string missingRanks() const;
  std::string howItEnded(Child& child);
  bool allDone() const;

  PerfOptions options_;
  std::vector<PerfCase> cases_;
  std::vector<Child> children_;
  std::vector<Rank> ranks_;
  bool announced_ = false;
  std::size_t reported_ = 0;  // cases
  bool somethingHeard_ = false;
};

}  // namespace xylem::cli
