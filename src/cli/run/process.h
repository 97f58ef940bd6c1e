#pragma once
// One rank of `xylem run`: a process group here, or the command that reaches another host.
//
//   RankProcess rank(options, 3, STDIN_FILENO);
//   rank.stop(SIGTERM);  rank.kill();
//   if (rank.poll()) rank.status() ...

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/run/environment.h"
#include "cli/run/lines.h"
#include "core/file_descriptor.h"

namespace xylem::cli {

struct RunOptions {
  std::vector<std::string> program;
  std::vector<RankPlace> places;  // by rank
  RunMeeting meeting;
  std::string launcher;
  bool launchesHere = false;  // by the launcher, whatever the host's name
  Variables exports;          // for ranks on other hosts
  bool prefix = true;
  bool bindsCores = false;
  int timeoutSeconds = 0;  // 0: none
  int graceSeconds = 5;

  bool isHere(const RankPlace& place) const { return !launchesHere && isThisHost(place.host); }
};

class RankProcess {
 public:
  // Starts it. `input` is what it reads from, if it runs here: a descriptor, or -1 for nothing.
  RankProcess(const RunOptions& options, int rank, int input);
  // Ends it at once if it has not ended, with all that it started in its group.
  ~RankProcess();
  RankProcess(RankProcess&&) = default;

  int rank() const { return rank_; }
  pid_t pid() const { return pid_; }
  bool running() const { return status_ < 0; }
  // Looks whether it has ended since; true the one time that it did.
  bool poll();
  int status() const { return status_; }  // as a shell tells it: 128 and more for signals
  // "rank 3 (process 712 on node7) exited with status 1".
  std::string ending() const;

  void stop(int signal);
  void kill();

  // What it writes, and whether there may be more; both are -1 without prefixes.
  struct Stream {
    FileDescriptor fd;
    LineTagger lines;
  };
  Stream& out() { return out_; }
  Stream& errors() { return errors_; }

 private:
  [[noreturn]] void become(const RunOptions& options, int input, int out, int errors, pid_t parent) const;

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
  RankPlace place_;
  bool isHere_;
  Pid pid_;
  int status_ = -1;
  int signal_ = 0;
  FileDescriptor lifeline_;
  Stream out_, errors_;
};

}  // namespace xylem::cli
