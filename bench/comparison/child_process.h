#pragma once
// A program in a child process, with its output in a file. It is killed with its owner if it still runs.
//
//   ChildProcess child({"mpirun", "-n", "2", "program"}, {{"UCX_TLS", "tcp"}}, log);
//   child.waitFor(Deadline::after(5s)) || child.kill();

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "core/deadline.h"

namespace xylem::bench {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct CommandLine {
  std::vector<std::string> words;  // the program first, searched for in PATH
  Environment environment;         // beside ours
};

class ChildProcess {
 public:
  ChildProcess(const CommandLine& command, const std::string& log);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Returns whether it has ended; a deadline in the past only looks.
  bool hasEnded(const Deadline& deadline);
  void interrupt() const;
  void kill();

 private:
  pid_t pid_ = -1;
};

// Runs the program to its end. Throws Error with its output if it fails.
std::string runToEnd(const CommandLine& command, const std::string& log);

// The last lines of a file; empty if there are none.
std::string tailOf(const std::string& file);

}  // namespace xylem::bench
