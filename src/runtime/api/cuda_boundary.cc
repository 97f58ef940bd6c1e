#include "runtime/api/cuda_boundary.h"

#include <new>

#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/cuda_error.h"

namespace xylem::api {
namespace {

thread_local cudaError_t lastError = cudaSuccess;

}  // namespace

// cudaErrorNotReady is an answer, not an error.
void keepCudaError(cudaError_t error) noexcept {
  if (error != cudaErrorNotReady) lastError = error;
}

cudaError_t asCudaError(const std::exception& exception) noexcept {
  if (const auto* failure = dynamic_cast<const cuda_api::CudaFailure*>(&exception)) return failure->error();
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return cudaErrorMemoryAllocation;
  const auto* error = dynamic_cast<const Error*>(&exception);
  return error != nullptr && error->code() == ResultCode::kInvalidArgument ? cudaErrorInvalidValue
                                                                           : cudaErrorUnknown;
}

void requireResult(const void* result) {
  if (result == nullptr) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
}

void throwNoStream() { throw cuda_api::CudaFailure(cudaErrorInvalidResourceHandle); }

void requireDevice(int device) {
  if (device < 0 || device >= deviceCount()) throw cuda_api::CudaFailure(cudaErrorInvalidDevice);
}

int deviceCount() { return device::hostDeviceCount(Settings::fromEnvironment()); }

cudaError_t waitForDevice(int device) {
  cuda_api::Capture::forbidWaiting(device);
  return outcomeOf(device::Scheduler::instance().waitDevice(device));
}

cudaError_t outcomeOf(const std::optional<Error>& error) {
  return error ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace xylem::api

using namespace xylem;
using namespace xylem::api;

const char* cudaGetErrorString(cudaError_t error) { return cuda_api::errorText(rawValue(error)).text; }
const char* cudaGetErrorName(cudaError_t error) { return cuda_api::errorText(rawValue(error)).name; }

cudaError_t cudaPeekAtLastError(void) { return lastError; }

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = lastError;
  lastError = cudaSuccess;
  return error;
}
