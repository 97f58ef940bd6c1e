// host/cuda.h: streams, events, memory operations of streams; kernels, which are missing.

#include <atomic>

#include "runtime/api/driver_boundary.h"
#include "runtime/api/raw_value.h"

using namespace xylem;
using namespace xylem::api;

namespace {

template <typename Value>
cudaError_t requirePlace(CUdeviceptr address) {
  return address == 0 || address % sizeof(Value) != 0 ? cudaErrorInvalidValue : cudaSuccess;
}

// The word in memory, which other threads and processes may read and write.
template <typename Value>
std::atomic_ref<Value> wordAt(CUdeviceptr address) {
  return std::atomic_ref<Value>(*static_cast<Value*>(addressOf(address)));
}

cuda_api::CudaStream& requireUncaptured(CUstream stream) {
  cuda_api::CudaStream& known = requireStream(stream);
  cuda_api::Capture::forbid(known, cudaErrorStreamCaptureUnsupported);
  known.order();
  return known;
}

template <typename Value>
cudaError_t write(CUstream stream, CUdeviceptr address, Value value, unsigned flags) {
  if ((flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) != 0) return cudaErrorInvalidValue;
  if (const cudaError_t bad = requirePlace<Value>(address)) return bad;
  cuda_api::enqueueInstant(requireUncaptured(stream).queue(), [address, value] {
    wordAt<Value>(address).store(value, std::memory_order_release);
  });
  return cudaSuccess;
}

template <typename Value>
bool fits(Value found, Value value, unsigned condition) {
  using Difference = std::make_signed_t<Value>;
  switch (condition) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Difference>(found - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & value) != 0;
    default:
      return static_cast<Value>(~(found | value)) != 0;
  }
}

template <typename Value>
cudaError_t await(CUstream stream, CUdeviceptr address, Value value, unsigned flags) {
  const unsigned condition = flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
  if (condition > CU_STREAM_WAIT_VALUE_NOR) return cudaErrorInvalidValue;
  if (const cudaError_t bad = requirePlace<Value>(address)) return bad;
  cuda_api::enqueueSteps<true>(requireUncaptured(stream).queue(), [address, value, condition] {
    const Value found = wordAt<Value>(address).load(std::memory_order_acquire);
    return fits(found, value, condition) ? device::Progress::kDone : device::Progress::kWouldBlock;
  });
  return cudaSuccess;
}

cudaError_t enqueue(CUstream stream, const CUstreamBatchMemOpParams& operation) {
  switch (rawValue(operation.operation)) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return await(stream, operation.waitValue.address, operation.waitValue.value, operation.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return await(stream, operation.waitValue.address, operation.waitValue.value64,
                   operation.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write(stream, operation.writeValue.address, operation.writeValue.value,
                   operation.writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write(stream, operation.writeValue.address, operation.writeValue.value64,
                   operation.writeValue.flags);
    // Writes are in order, also those of the network.
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER:
      return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return guardedDriver([&] { return cudaStreamCreateWithFlags(stream, flags); });
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return guardedDriver([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}
CUresult cuStreamDestroy(CUstream stream) {
  return guardedDriver([&] { return cudaStreamDestroy(stream); });
}
CUresult cuStreamSynchronize(CUstream stream) {
  return guardedDriver([&] { return cudaStreamSynchronize(stream); });
}
CUresult cuStreamQuery(CUstream stream) {
  return guardedDriver([&] { return cudaStreamQuery(stream); });
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return guardedDriver([&] { return cudaStreamWaitEvent(stream, event, flags); });
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return guardedDriver([&] {
    requireResult(context);
    int device = 0;
    const cudaError_t result = cudaStreamGetDevice(stream, &device);
    if (result == cudaSuccess) *context = primaryContext(device);
    return result;
  });
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return guardedDriver([&] { return cudaStreamGetFlags(stream, flags); });
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return guardedDriver([&] { return cudaStreamGetPriority(stream, priority); });
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  return guardedDriver([&] { return cudaLaunchHostFunc(stream, function, argument); });
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return guardedDriver(
      [&] { return cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(rawValue(mode))); });
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return guardedDriver([&] { return cudaStreamEndCapture(stream, graph); });
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return guardedDriver([&] {
    requireResult(status);
    cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    const cudaError_t result = cudaStreamIsCapturing(stream, &found);
    if (result == cudaSuccess) *status = static_cast<CUstreamCaptureStatus>(found);
    return result;
  });
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return guardedDriver([&] {
    requireResult(mode);
    auto exchanged = static_cast<cudaStreamCaptureMode>(rawValue(*mode));
    const cudaError_t result = cudaThreadExchangeStreamCaptureMode(&exchanged);
    if (result == cudaSuccess) *mode = static_cast<CUstreamCaptureMode>(exchanged);
    return result;
  });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return guardedDriver([&] { return cudaEventCreateWithFlags(event, flags); });
}
CUresult cuEventDestroy(CUevent event) {
  return guardedDriver([&] { return cudaEventDestroy(event); });
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return guardedDriver([&] { return cudaEventRecord(event, stream); });
}
CUresult cuEventQuery(CUevent event) {
  return guardedDriver([&] { return cudaEventQuery(event); });
}
CUresult cuEventSynchronize(CUevent event) {
  return guardedDriver([&] { return cudaEventSynchronize(event); });
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return guardedDriver([&] { return cudaEventElapsedTime(milliseconds, start, end); });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return guardedDriver([&] { return write(stream, address, value, flags); });
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return guardedDriver([&] { return write(stream, address, value, flags); });
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return guardedDriver([&] { return await(stream, address, value, flags); });
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return guardedDriver([&] { return await(stream, address, value, flags); });
}
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations,
                            unsigned flags) {
  return guardedDriver([&] {
    if (flags != 0 || (operations == nullptr && count > 0)) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; ++i)
      if (const cudaError_t bad = enqueue(stream, operations[i])) return bad;
    return cudaSuccess;
  });
}

CUresult cuModuleLoad(CUmodule*, const char*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuModuleLoadData(CUmodule*, const void*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuModuleUnload(CUmodule) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        CUstream, void**, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
