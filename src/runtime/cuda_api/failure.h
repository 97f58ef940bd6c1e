#pragma once
// What ends a call of the CUDA runtime: the error that the program gets.
//
//   throw CudaFailure(cudaErrorStreamCaptureIsolation);

#include <exception>

#include "host/cuda_runtime.h"

namespace xylem {

class CudaFailure : public std::exception {
 public:
  explicit CudaFailure(cudaError_t error) : error_(error) {}
  cudaError_t error() const { return error_; }
  const char* what() const noexcept override { return "a call of the CUDA runtime failed"; }

 private:
  cudaError_t error_;
};

}  // namespace xylem
