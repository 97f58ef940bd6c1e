#pragma once
// How torch's types and reductions are expressed in NCCL's.
//
//   const Reduction r = reductionOf(at::kBool, c10d::ReduceOp::SUM);    // the largest of bytes: a logical or

#include <ATen/core/Tensor.h>

#include <functional>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "nccl.h"

namespace xylem::torch {

struct Reduction {
  at::ScalarType staged = at::kFloat;  // what the elements are converted to, if they are of another type
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int width = 1;  // NCCL's elements per element: 2 for complex numbers
  // Bitwise operations NCCL does not have: inputs are gathered, and combined by this, into the first.
  std::function<void(at::Tensor&, const at::Tensor&)> combine = nullptr;
};

// Throws, naming both, for what has no meaning or no equivalent.
Reduction reductionOf(at::ScalarType type, const c10d::ReduceOp& op);

}  // namespace xylem::torch
