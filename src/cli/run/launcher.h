#pragma once
// Starts the processes of a job and looks after them until all have ended: passes their output on with the
// rank in front, ends all when one fails, when time is up or when this process receives a signal, and leaves
// no process behind. `xylem run` and `xylem perf` start their ranks with it.
//
//   Launcher launcher({.graceSeconds = 5});
//   for (int rank = 0; rank < 4; ++rank)
//     launcher.start({.rank = rank, .host = hostName(), .run = [rank] { return work(rank); }});
//   return launcher.run();      // the exit status of the process that failed first, or 0
//
// One thread does everything: run() is a loop around poll(). Signals arrive there through a descriptor, so
// that nothing is ever interrupted halfway.

#include <signal.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run/process.h"
#include "cli/run/streams.h"
#include "core/deadline.h"

namespace xylem::cli {

class Launcher;

// run() calls the functions. They may throw: then run() does, and the destructor kills all processes.
struct LaunchOptions {
  int graceSeconds = 5;  // between the signal that ends the processes and SIGKILL
  // A process has ended. Without this function, a status other than 0 ends the job.
  std::function<void(Launcher& launcher, const JobProcess& process)> onEnd = {};
  // The time set by setTimeout is up. Required if setTimeout is called.
  std::function<void(Launcher& launcher)> onTimeout = {};
};

class Launcher {
 public:
  // From here on SIGINT, SIGTERM and SIGHUP of this process, unless it ignores them, wait for run(). No other
  // thread may run yet: the processes are copies of this one.
  explicit Launcher(LaunchOptions options);
  // Kills the processes that still run. Restores the signals.
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void start(ProcessStart start);
  // Starts a process that reads this one's standard input.
  void startWithInput(ProcessStart start);
  // Calls `onReadable` from run() whenever `fd` can be read or has ended, until it returns false.
  void watch(int fd, std::function<bool()> onReadable);
  // Calls onTimeout at `deadline` instead of at an earlier one; none: never. Has no effect once the job is
  // being ended.
  void setTimeout(std::optional<Deadline> deadline);
  // Prints on standard output, without ever blocking.
  void print(std::string_view text) { out_.add(text); }

  // Returns when all processes have ended and their output is written: 0, or the status that the job was
  // ended with.
  int run();

  // Sends `signal` to all processes and makes run() return `status`. Says why, and how many ranks that ends.
  // Only the first call counts.
  void end(int status, int signal, const std::string& why);

  // True once end() was called, by the owner or because of a signal. onEnd is not called any more.
  bool ending() const { return ending_; }
  // The number of ranks whose processes still run.
  int running() const;

 private:
  struct BackgroundAccept {
    int fd;
    std::function<bool()> onReadable;
  };
  void wait();
  int pollMilliseconds() const;
  void hear(JobProcess::Stream& stream, OutputQueue& queue);
  static void close(JobProcess::Stream& stream, OutputQueue& queue);
  void takeSignals();
  void lookForEnds();
  void lookAtTime();
  void killTheRest();
  void say(const std::string& text);
  bool finished();

  const LaunchOptions options_;
  sigset_t oldSignals_{};
  FileDescriptor signals_;
  JobKeeper keeper_;
  std::optional<TerminalInput> input_;
  OutputQueue out_, errors_;
  std::vector<JobProcess> processes_;
  std::vector<BackgroundAccept> watched_;
  int status_ = 0;
  bool ending_ = false;    // status_ is decided, and the processes were told to end
  bool allEnded_ = false;  // the rest of their output may still be on its way
  // Each is reset when it has passed and was acted upon.
  std::optional<Deadline> timeout_;
  std::optional<Deadline> grace_;      // for processes that were told to end
  std::optional<Deadline> lastWords_;  // for output that is still in the pipes
};

}  // namespace xylem::cli
