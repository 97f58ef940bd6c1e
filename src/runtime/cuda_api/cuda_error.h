#pragma once
// Errors of the CUDA runtime: their names and texts, and the exception that ends a call with one of them.
//
//   throw CudaFailure(cudaErrorStreamCaptureIsolation);
//   errorText(cudaErrorNotReady).name   ->   "cudaErrorNotReady"

#include <exception>

#include "host/cuda_runtime.h"

namespace xylem::cuda_api {

struct ErrorText {
  int error;
  const char* name;
  const char* text;
};

// The entry of cudaErrorUnknown if there is no error of that number.
const ErrorText& errorText(int error);

// The program gets `error` as the result of its call.
class CudaFailure : public std::exception {
 public:
  explicit CudaFailure(cudaError_t error) : error_(error) {}
  cudaError_t error() const { return error_; }
  const char* what() const noexcept override { return "a call of the CUDA runtime failed"; }

 private:
  cudaError_t error_;
};

}  // namespace xylem::cuda_api
