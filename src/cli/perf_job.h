#pragma once
// The processes of `xylem perf`: starts one per rank, passes the id round, collects what they report, and
// makes sure that none outlives the job.
//
//   PerfJob job(options);
//   job.run(report);        // throws Error naming the rank that failed and how it ended

#include <sys/types.h>

#include <vector>

#include "cli/perf_rank.h"
#include "core/deadline.h"

namespace xylem::cli {

// Who wants to know what the ranks say.
class PerfListener {
 public:
  virtual ~PerfListener() = default;
  // All ranks have joined; by rank.
  virtual void joined(const std::vector<PerfMessage>& hellos) = 0;
  // All ranks have finished a case; by rank.
  virtual void measured(const PerfCase& c, const std::vector<PerfMessage>& results) = 0;
};

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
    std::string failure;
    std::vector<PerfMessage> results;
    PerfMessage hello;
  };
  void start(int rank);
  [[noreturn]] void runChild(int rank, int socket, pid_t parent) const;
  void listen(int milliseconds);
  void hear(int rank);
  // Throws if a rank failed, after a moment in which the others may say what they saw.
  void checkFailures();
  std::string howItEnded(Child& child);
  bool allDone() const;

  PerfOptions options_;
  std::vector<PerfCase> cases_;
  std::vector<Child> children_;
  bool somethingHeard_ = false;
};

}  // namespace xylem::cli
