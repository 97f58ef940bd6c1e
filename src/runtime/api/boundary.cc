#include "runtime/api/boundary.h"

#include <mutex>

#include "core/per_thread.h"
#include "runtime/cuda_api/cuda_error.h"

namespace xylem::api {
namespace {

struct ProcessLogger {
  std::mutex mutex;
  std::shared_ptr<const Logger> logger;
};
ProcessLogger& theLogger() {
  static auto& logger = *std::make_unique<ProcessLogger>().release();  // used until the program ends
  return logger;
}

}  // namespace

std::shared_ptr<const Logger> processLogger(const Settings& settings) {
  ProcessLogger& process = theLogger();
  const std::lock_guard lock(process.mutex);
  if (!process.logger) {
    process.logger = std::make_shared<const Logger>(settings);
    for (const std::string& warning : settings.warnings()) process.logger->warn("{}", warning);
  }
  return process.logger;
}

void forgetLogger() {
  ProcessLogger& process = theLogger();
  const std::lock_guard lock(process.mutex);
  process.logger.reset();
}

std::string& lastErrorText() {
  struct LastError {
    std::string text;
  };
  return perThread<LastError>().text;
}

ncclResult_t remember(ResultCode code, const std::string& text) {
  lastErrorText() = text;
  return static_cast<ncclResult_t>(code);
}

Error asError(const std::exception& exception) {
  if (const auto* failure = dynamic_cast<const cuda_api::CudaFailure*>(&exception))
    return Error(ResultCode::kUnhandledCudaError, "{}", cuda_api::errorText(failure->error()).text);
  return errorOf(exception);
}

void throwNull(const char* function, const char* parameter) {
  throw Error(ResultCode::kInvalidArgument, "{}: {} is null", function, parameter);
}

}  // namespace xylem::api
