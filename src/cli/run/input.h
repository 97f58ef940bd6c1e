#pragma once
// Passes what is typed at the terminal on to rank 0 of `xylem run`. The rank cannot read the terminal itself,
// as its process group is not the one in the foreground; anything else that is standard input it can.
//
//   TerminalInput input;               // nothing unless standard input is a terminal
//   start rank 0 with input.rankEnd()
//   poll input.poll(), then input.pass()

#include <poll.h>

#include <string>

#include "core/file_descriptor.h"

namespace xylem::cli {

class TerminalInput {
 public:
  TerminalInput();

  // What rank 0 reads from; -1 if that is nothing.
  int rankEnd() const { return rankEnd_ ? rankEnd_.get() : inherited_; }
  // Once rank 0 is started.
  void started() { rankEnd_.reset(); }
  // What to wait for; a negative descriptor if nothing.
  pollfd waitingFor() const;
  void pass();

 private:
  int inherited_ = -1;
  FileDescriptor rankEnd_, ourEnd_;
  std::string typed_;
};

}  // namespace xylem::cli
