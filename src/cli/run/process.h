#pragma once
// A process of a job: a process group here, or the command that reaches another host.
//
//   JobProcess process({.rank = 3, .host = "node7", .run = [] { return becomeProgram(words); }});
//   if (process.poll()) ... process.status() ...
//   process.stop(SIGTERM);  process.kill();

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "cli/run/streams.h"
#include "core/file_descriptor.h"

namespace xylem::cli {

struct ProcessStart {
  int rank = 0;      // its first rank, for messages and tags
  int ranks = 1;     // the number of its ranks
  std::string host;  // for messages
  // Its work, in the new process, a copy of this one with only the calling thread: either executes a program,
  // or does something and returns the exit status.
  std::function<int()> run = {};
  int input = -1;      // its standard input: a descriptor, or -1 for nothing
  bool prefix = true;  // print its output with the rank in front; otherwise it writes to our streams itself
  // For a command that reaches another host: its standard input is a pipe, a lifeline, that starts with this
  // text and whose end tells the other host to end the program. Each further line names a signal for it.
  std::optional<std::string> lifeline = {};
};

class JobProcess {
 public:
  // Starts it. Throws Error.
  explicit JobProcess(const ProcessStart& start);
  // Kills it and its process group if it has not ended.
  ~JobProcess();
  JobProcess(JobProcess&&) = default;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  pid_t pid() const { return pid_; }
  bool running() const { return status_ < 0; }
  // Returns true once: when it finds that the process has ended.
  bool poll();
  int status() const { return status_; }  // as shells have it: 128 + N for signal N
  // "was killed by signal 9 (Killed)", "exited with status 1".
  std::string ending() const;
  // "rank 3 (process 712 on node7)".
  std::string name() const;

  // Passes a signal on: to its group, or by the lifeline to the program on the other host.
  void pass(int signal);
  // Sends a signal to its group, or ends its lifeline.
  void stop(int signal);
  void kill();

  // Its output, which ends when the descriptor does. Without `prefix` there is no descriptor.
  struct Stream {
    FileDescriptor fd;
    LineTagger lines;
  };
  Stream& out() { return out_; }
  Stream& errors() { return errors_; }

 private:
  // Owns a process: moved from, it owns none.
  struct Pid {
    pid_t value = -1;
    Pid() = default;
    Pid(Pid&& other) noexcept : value(std::exchange(other.value, -1)) {}
    Pid& operator=(pid_t pid) {
      value = pid;
      return *this;
    }
    operator pid_t() const { return value; }
  };

  int rank_;
  int ranks_;
  std::string host_;
  Pid pid_;
  int status_ = -1;
  int signal_ = 0;
  FileDescriptor lifeline_;
  Stream out_, errors_;
};

// A process of its own that waits for the end of this one, however that comes, and then kills the process
// groups of the job. With it not even SIGKILL leaves orphans.
//
//   JobKeeper keeper;          // first: it is a copy of this process
//   keeper.watch(pid);         // the number of a process group
class JobKeeper {
 public:
  JobKeeper();
  // Ends the keeper, which kills nothing then.
  ~JobKeeper();
  JobKeeper(const JobKeeper&) = delete;
  JobKeeper& operator=(const JobKeeper&) = delete;

  void watch(pid_t group);

 private:
  pid_t pid_ = -1;
  FileDescriptor pipe_;
};

}  // namespace xylem::cli
