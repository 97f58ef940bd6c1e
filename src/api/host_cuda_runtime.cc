// host/cuda_runtime.h: CUDA's runtime names on the host device.

#include <cstring>
#include <memory>
#include <new>

#include "api/raw_value.h"
#include "api/stream_handle.h"

using namespace xylem;

namespace {

// Exceptions end here.
template <typename Work>
cudaError_t guarded(Work&& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const Error& error) {
    return error.code() == ResultCode::kInvalidArgument ? cudaErrorInvalidValue : cudaErrorUnknown;
  } catch (const std::exception&) {
    return cudaErrorUnknown;
  }
}

int deviceCount() { return hostDeviceCount(Settings::fromEnvironment()); }

cudaError_t outcomeOf(const std::optional<Error>& error) {
  return error ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t waitForDevice() { return outcomeOf(Scheduler::instance().waitDevice(currentDevice())); }

// One piece of memory work in a stream; frees itself.
template <typename Work>
class MemoryTask final : public Task {
 public:
  explicit MemoryTask(Work work) : work_(std::move(work)) {}
  Progress step() override {
    work_();
    return Progress::kDone;
  }
  void finish(const Error*) noexcept override { const std::unique_ptr<MemoryTask> self(this); }

 private:
  Work work_;
};

template <typename Work>
cudaError_t enqueue(cudaStream_t handle, Work work) {
  Stream* stream = streamOf(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  Scheduler::instance().enqueue(*stream, *std::make_unique<MemoryTask<Work>>(std::move(work)).release());
  return cudaSuccess;
}

bool knownDirection(const cudaMemcpyKind& kind) {
  return rawValue(kind) >= cudaMemcpyHostToHost && rawValue(kind) <= cudaMemcpyDefault;
}

cudaError_t checkCopy(const void* to, const void* from, size_t count, const cudaMemcpyKind& kind) {
  if (!knownDirection(kind)) return cudaErrorInvalidMemcpyDirection;
  return count > 0 && (to == nullptr || from == nullptr) ? cudaErrorInvalidValue : cudaSuccess;
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kTexts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "an argument cannot be used"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "not enough memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "the device could not be set up"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "there is no such direction of a copy"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "there is no device"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "there is no device of that number"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
     "not a stream, or one that was destroyed"},
    {cudaErrorNotReady, "cudaErrorNotReady", "work is still under way"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "work failed while it was running"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};
const ErrorText& textOf(const cudaError_t& error) {
  for (const ErrorText& entry : kTexts)
    if (entry.error == rawValue(error)) return entry;
  return kTexts[std::size(kTexts) - 1];
}

}  // namespace

const char* cudaGetErrorString(cudaError_t error) { return textOf(error).text; }
const char* cudaGetErrorName(cudaError_t error) { return textOf(error).name; }

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  return guarded([&] {
    *count = deviceCount();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return guarded([&] {
    if (device < 0 || device >= deviceCount()) return cudaErrorInvalidDevice;
    setCurrentDevice(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = currentDevice();
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  if (stream == nullptr) return cudaErrorInvalidValue;
  return guarded([&] {
    *stream = std::make_unique<CUstream_st>(currentDevice()).release();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return guarded([&] {
    Stream* stream = streamOf(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    Scheduler::instance().wait(*stream);
    return outcomeOf(stream->takeError());
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return guarded([&] {
    Stream* stream = streamOf(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->pending()) return cudaErrorNotReady;
    return outcomeOf(stream->takeError());
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return guarded([&] {
    if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread ||
        streamOf(handle) == nullptr)
      return cudaErrorInvalidResourceHandle;
    const std::unique_ptr<CUstream_st> owner(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return guarded([] { return waitForDevice(); });
}

cudaError_t cudaMalloc(void** pointer, size_t size) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  const cudaError_t outcome = guarded([&] {
    *pointer = allocateMemory(size);
    return cudaSuccess;
  });
  return outcome == cudaErrorUnknown ? cudaErrorMemoryAllocation : outcome;
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  return guarded([&] {
    const cudaError_t outcome = waitForDevice();
    releaseMemory(pointer);
    return outcome;
  });
}

cudaError_t cudaMemcpy(void* destination, const void* source, size_t count, cudaMemcpyKind kind) {
  if (const cudaError_t error = checkCopy(destination, source, count, kind); error != cudaSuccess)
    return error;
  return guarded([&] {
    const cudaError_t outcome = waitForDevice();
    if (count > 0) std::memmove(destination, source, count);
    return outcome;
  });
}

cudaError_t cudaMemset(void* pointer, int value, size_t count) {
  if (pointer == nullptr && count > 0) return cudaErrorInvalidValue;
  return guarded([&] {
    const cudaError_t outcome = waitForDevice();
    if (count > 0) std::memset(pointer, value, count);
    return outcome;
  });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (const cudaError_t error = checkCopy(destination, source, count, kind); error != cudaSuccess)
    return error;
  return guarded([&] {
    return enqueue(stream, [=] {
      if (count > 0) std::memmove(destination, source, count);
    });
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream) {
  if (pointer == nullptr && count > 0) return cudaErrorInvalidValue;
  return guarded([&] {
    return enqueue(stream, [=] {
      if (count > 0) std::memset(pointer, value, count);
    });
  });
}
