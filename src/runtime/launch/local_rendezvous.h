#pragma once
// Passes a text from the first process of a job to the others on the same host, for launchers without a
// store: over a Unix socket whose name follows from the job's. Only processes of the same user are served. No
// file is left behind.
//
//   text = shareLocally({"torchrun 127.0.0.1:29500 run 7", rank, size}, text, deadline);

#include <string>

#include "core/deadline.h"

namespace xylem::launch {

struct LocalRendezvous {
  std::string job;  // the same for all processes of the job, and for no other process
  int rank = 0;
  int size = 1;
};

// Returns the text that rank 0 passed; those of the others are ignored. Throws Error.
std::string shareLocally(const LocalRendezvous& rendezvous, const std::string& text, Deadline deadline);

}  // namespace xylem::launch
