#pragma once
// The unique id of a launched job, the same in all its processes.
//
//   const ncclUniqueId id = jobId(*launchedProcess(getenv), timeout);

#include <chrono>

#include "nccl.h"
#include "runtime/launch/launched_process.h"

namespace xylem::launch {

// Every process of the job calls it once. It sets NCCL_COMM_ID if the launcher's variables determine the
// address of the root. Throws Error.
ncclUniqueId jobId(const LaunchedProcess& process, std::chrono::seconds timeout);

}  // namespace xylem::launch
