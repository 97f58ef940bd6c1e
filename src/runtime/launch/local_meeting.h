#pragma once
// Passes a text from the first process of a job to the others, all on one host, where the launcher has no
// store for that: over a socket with a name made of the job's. Only processes of the same user are let in. It
// leaves nothing behind.
//
//   text = shareLocally({"torchrun 127.0.0.1:29500 run 7", rank, size}, text, deadline);

#include <string>

#include "core/deadline.h"

namespace xylem {

struct LocalMeeting {
  std::string job;  // the same for all its processes, and for nobody else's
  int rank = 0;
  int size = 1;
};

// Returns what rank 0 passed; what the others pass does not count. Throws Error.
std::string shareLocally(const LocalMeeting& meeting, const std::string& text, Deadline deadline);

}  // namespace xylem
