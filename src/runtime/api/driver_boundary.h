#pragma once
// Where exceptions end in the functions of CUDA's driver interface. They leave the thread's last error of the runtime as
// it was, and have the runtime's numbers.
//
//   return guardedDriver([&] { return cudaMemGetInfo(available, total); });

#include "host/cuda.h"
#include "runtime/api/cuda_boundary.h"

namespace xylem::api {

template <typename Work>
CUresult guardedDriver(Work&& work) noexcept {
  const bool clean = cudaPeekAtLastError() == cudaSuccess;
  cudaError_t result = cudaSuccess;
  try {
    result = work();
  } catch (const std::exception& exception) {
    result = asCudaError(exception);
  }
  if (clean && result != cudaSuccess) cudaGetLastError();
  return static_cast<CUresult>(result);
}

inline void* addressOf(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }
inline CUdeviceptr pointerOf(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

// The device's primary context.
CUcontext primaryContext(int device);
// Throws CudaFailure if it is not a context.
int deviceOfContext(CUcontext context);

}  // namespace xylem::api
