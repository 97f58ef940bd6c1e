#include "runtime/api/cuda_boundary.h"

#include <atomic>
#include <cstdio>
#include <new>

#include "runtime/api/boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/cuda_error.h"

namespace xylem::api {
namespace {

thread_local cudaError_t lastError = cudaSuccess;

// A variable that cannot be used: the first call of the program fails, and a number of CUDA's cannot name it. There is no log
// yet, which would need the variables.
void sayOnce(const Error& error) {
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  if (!said.test_and_set()) std::fprintf(stderr, "xylem: %s\n", error.what());
}

}  // namespace

// cudaErrorNotReady is an answer, not an error.
void keepCudaError(cudaError_t error) noexcept {
  if (error != cudaErrorNotReady) lastError = error;
}

cudaError_t asCudaError(const std::exception& exception) noexcept {
  if (const auto* failure = dynamic_cast<const cuda_api::CudaFailure*>(&exception)) return failure->error();
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return cudaErrorMemoryAllocation;
  const Error error = asError(exception);
  remember(error.code(), error.what());
  if (dynamic_cast<const InputError*>(&exception) != nullptr) sayOnce(error);
  return error.code() == ResultCode::kInvalidArgument ? cudaErrorInvalidValue : cudaErrorUnknown;
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
  if (!error) return cudaSuccess;
  remember(error->code(), error->what());
  return cudaErrorLaunchFailure;
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
