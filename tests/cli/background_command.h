#pragma once
// The real `xylem` as a child that goes on while the test looks at what it has written, and does something to
// it or to its ranks.
//
//   BackgroundCommand run({"run", "-n", "3", "--", "sleep", "100"});
//   ASSERT_TRUE(run.await([&] { return run.output().find("ready") != std::string::npos; }));
//   kill(run.pid(), SIGINT);
//   EXPECT_EQ(run.wait(), 130);

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/run_command.h"

namespace xylem::testing {

class BackgroundCommand {
 public:
  // The child sees the same as with runCommand.
  explicit BackgroundCommand(const std::vector<std::string>& words,
                             const std::map<std::string, std::string>& environment = {});
  // Kills it if it has not ended.
  ~BackgroundCommand();
  BackgroundCommand(const BackgroundCommand&) = delete;
  BackgroundCommand& operator=(const BackgroundCommand&) = delete;

  pid_t pid() const { return pid_; }
  // So far.
  std::string output() const;
  std::string errors() const;
  // Its exit status, 128 and more for signals. Kills it after a minute.
  int wait();

 private:
  ScratchFile output_, errors_;
  pid_t pid_ = -1;
};

// Looks again and again, for half a minute at most. False if it never was so.
bool await(const std::function<bool()>& isSo);

// Whether the process is still there and not a zombie that nobody has waited for.
bool isAlive(pid_t pid);

}  // namespace xylem::testing
