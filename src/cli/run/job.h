#pragma once
// All ranks of one `xylem run`: starts them, passes their output on, and ends them all when one fails, when
// time is up or when this process is told to end.
//
//   RunJob job(options);
//   return job.run();      // the exit status of the rank that failed first, or 0

#include <optional>
#include <string>
#include <vector>

#include "cli/run/input.h"
#include "cli/run/keeper.h"
#include "cli/run/output.h"
#include "cli/run/process.h"
#include "core/deadline.h"

namespace xylem::cli {

class RunJob {
 public:
  explicit RunJob(const RunOptions& options);
  int run();

 private:
  void start();
  int pollMilliseconds() const;
  void wait();
  void hear(RankProcess::Stream& stream, OutputQueue& queue);
  static void close(RankProcess::Stream& stream, OutputQueue& queue);
  void takeSignals();
  void lookForEnds();
  void lookAtTime();
  void killTheRest();
  // Tells all that run to end, and remembers why.
  void end(int status, int signal, const std::string& why);
  void say(const std::string& text);
  std::size_t running() const;
  bool finished();

  const RunOptions& options_;
  FileDescriptor signals_;
  RunKeeper keeper_;
  TerminalInput input_;
  OutputQueue out_, errors_;
  std::vector<RankProcess> ranks_;
  int status_ = 0;
  bool ending_ = false;    // status_ is decided, and who still runs was told
  bool allEnded_ = false;  // what they wrote may still be on its way
  std::optional<Deadline> timeout_, grace_, lastWords_;
};

}  // namespace xylem::cli
