#pragma once
// Tells a profiler which steps of the network's queues a work takes: from its start on, and that what it
// received has been read.

#include "runtime/comm/issue/launch.h"
#include "runtime/plugins/profiled_queue.h"

namespace xylem {

// Before the work's first step. Nothing for works over boards.
void profileStart(ProfiledQueues& queues, const Work& work);
// After its last one.
void profileEnd(ProfiledQueues& queues, const Work& work);

}  // namespace xylem
