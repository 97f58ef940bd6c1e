// The C++ interface of include/xylem/launch.h.
#include <cstdlib>

#include "core/error.h"
#include "core/settings.h"
#include "runtime/launch/job_id.h"
#include "runtime/launch/launched_process.h"
#include "xylem/launch.h"

namespace xylem {

LaunchError::~LaunchError() = default;

Launch Launch::find() {
  Launch launch;
  try {
    const auto process = launch::launchedProcess(std::getenv);
    if (!process) return launch;
    launch.rank_ = process->rank;
    launch.size_ = process->size;
    launch.localRank_ = process->localRank;
    launch.localSize_ = process->localSize;
    launch.variable_ = process->variable;
    launch.knowsHost_ = process->knowsHost;
  } catch (const Error& error) {
    throw LaunchError(error.what());
  }
  return launch;
}

ncclUniqueId Launch::uniqueId() const {
  try {
    const std::chrono::seconds timeout(Settings::fromEnvironment().integer(Setting::kTimeout));
    return launch::jobId({rank_, size_, localRank_, localSize_, variable_, knowsHost_}, timeout);
  } catch (const Error& error) {
    throw LaunchError(error.what());
  }
}

}  // namespace xylem
