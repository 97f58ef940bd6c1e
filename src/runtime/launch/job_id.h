#pragma once
// The unique id of a launched job, the same in all its processes.
//
//   const ncclUniqueId id = jobId(*launchedProcess(getenv), timeout);

#include <chrono>

#include "runtime/launch/launched_process.h"
#include "nccl.h"

namespace xylem {

// All processes call it, once. Sets NCCL_COMM_ID where the job meets at an address that follows from the
// launcher's variables. Throws Error.
ncclUniqueId jobId(const LaunchedProcess& process, std::chrono::seconds timeout);

}  // namespace xylem
