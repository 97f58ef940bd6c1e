#include "api/boundary.h"

#include <mutex>

namespace xylem {

std::shared_ptr<const Logger> processLogger(const Settings& settings) {
  static std::mutex mutex;
  static std::shared_ptr<const Logger> logger;
  const std::lock_guard lock(mutex);
  if (!logger) {
    logger = std::make_shared<const Logger>(settings);
    for (const std::string& warning : settings.warnings()) logger->info(Subsystem::kEnv, "{}", warning);
  }
  return logger;
}

std::string& lastErrorText() {
  static thread_local std::string text;
  return text;
}

ncclResult_t remember(ResultCode code, const std::string& text) {
  lastErrorText() = text;
  return static_cast<ncclResult_t>(code);
}

void requireNotNull(const void* pointer, const char* function, const char* parameter) {
  if (pointer == nullptr) throw Error(ResultCode::kInvalidArgument, "{}: {} is null", function, parameter);
}

Communicator& checked(ncclComm_t comm, const char* function) {
  requireNotNull(comm, function, "comm");
  if (comm->magic != ncclComm::kMagic)
    throw Error(ResultCode::kInvalidArgument, "{}: comm is not a communicator, or was destroyed", function);
  return *comm->impl;
}

}  // namespace xylem
