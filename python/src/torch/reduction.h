#pragma once
// Expresses torch's types and reductions in NCCL's.
//
//   const Reduction r = reductionOf(at::kBool, c10d::ReduceOp::SUM);    // the largest of bytes: a logical or

#include <ATen/core/Tensor.h>

#include <functional>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "nccl.h"

namespace xylem::torch {

struct Reduction {
  at::ScalarType staged = at::kFloat;  // the type to convert elements to, if it is another one
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int width = 1;  // NCCL's elements per element: 2 for complex numbers
  // Bitwise operations are not in NCCL: inputs are gathered, and this combines them into the first.
  std::function<void(at::Tensor&, const at::Tensor&)> combine = nullptr;
};

// Throws an error that names both if the pair has no meaning or no equivalent.
Reduction reductionOf(at::ScalarType type, const c10d::ReduceOp& op);

}  // namespace xylem::torch
