#pragma once
// The executor of a rank that joins on a GPU, with its queues in the memory of the GPUs that reach each other's.
//
//   SharedGpus gpus = shareGpus(bootstrap, roster, plan, wiring, request, gpu);   // on all ranks at the same time
//   if (gpus.executor) ...

#include <memory>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/issue/gpu_executor.h"
#include "runtime/comm/join/comm_plan.h"
#include "runtime/comm/join/job_roster.h"
#include "runtime/comm/join/join_steps.h"
#include "runtime/comm/join/wiring.h"
#include "runtime/gpu/gpu_context.h"

namespace xylem::comm {

struct SharedGpus {
  std::unique_ptr<GpuExecutor> executor;  // null: the device is a host device
  // Whether all GPUs reach those that the plan has them reach; all ranks know the same.
  bool reachEachOther = true;
};

// Warns of the GPUs that turned out not to be reached: their queues stay in memory of the host. Returns whether there were some of which it
// had not warned before.
bool warnOfUnreached(const Logger& log, const gpu::GpuContext& gpu, GpuQueues& queues);

// `gpu`: null if the device is a host device.
SharedGpus shareGpus(bootstrap::Bootstrap& bootstrap, const JobRoster& roster, const CommPlan& plan,
                     const Wiring& wiring, const JoinRequest& request, const gpu::GpuContext* gpu);

}  // namespace xylem::comm
