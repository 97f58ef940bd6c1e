#include "torch/reduction.h"

#include <ATen/ATen.h>

namespace xylem::torch {
namespace {

using Op = c10d::ReduceOp::RedOpType;

const char* nameOf(Op op) {
  switch (op) {
    case Op::SUM:
      return "SUM";
    case Op::AVG:
      return "AVG";
    case Op::PRODUCT:
      return "PRODUCT";
    case Op::MIN:
      return "MIN";
    case Op::MAX:
      return "MAX";
    case Op::BAND:
      return "BAND";
    case Op::BOR:
      return "BOR";
    case Op::BXOR:
      return "BXOR";
    case Op::PREMUL_SUM:
      return "PREMUL_SUM";
    default:
      return "unknown";
  }
}

[[noreturn]] void refuse(at::ScalarType type, Op op, const char* instead) {
  TORCH_CHECK(false, "xylem: no reduction ", nameOf(op), " of ", c10::toString(type), "; ", instead);
}

Reduction bitwise(at::ScalarType type, Op op) {
  if (!c10::isIntegralType(type, /*includeBool=*/true))
    refuse(type, op, "bitwise ones are of integers and bool");
  Reduction r;
  r.staged = type;
  if (op == Op::BAND) r.combine = [](at::Tensor& a, const at::Tensor& b) { a.bitwise_and_(b); };
  if (op == Op::BOR) r.combine = [](at::Tensor& a, const at::Tensor& b) { a.bitwise_or_(b); };
  if (op == Op::BXOR) r.combine = [](at::Tensor& a, const at::Tensor& b) { a.bitwise_xor_(b); };
  return r;
}

// False and true are 0 and 1: SUM and MAX are "or", PRODUCT and MIN are "and".
Reduction ofBool(Op op) {
  if (op == Op::AVG) refuse(at::kBool, op, "convert to a number type first");
  return {at::kBool, ncclUint8, op == Op::SUM || op == Op::MAX ? ncclMax : ncclMin};
}

ncclRedOp_t operation(at::ScalarType type, Op op) {
  switch (op) {
    case Op::SUM:
      return ncclSum;
    case Op::AVG:
      return ncclAvg;
    case Op::PRODUCT:
      return ncclProd;
    case Op::MIN:
      return ncclMin;
    case Op::MAX:
      return ncclMax;
    default:
      refuse(type, op, "use SUM of tensors that are scaled before");
  }
}

}  // namespace

Reduction reductionOf(at::ScalarType type, const c10d::ReduceOp& reduceOp) {
  const Op op = reduceOp;
  if (op == Op::BAND || op == Op::BOR || op == Op::BXOR) return bitwise(type, op);
  if (type == at::kBool) return ofBool(op);
  const ncclRedOp_t how = operation(type, op);
  switch (type) {
    case at::kByte:
      return {type, ncclUint8, how};
    case at::kChar:
      return {type, ncclInt8, how};
    // Sums and products of 32 bits have the same lower 16.
    case at::kShort:
      return {at::kInt, ncclInt32, how};
    case at::kInt:
      return {type, ncclInt32, how};
    case at::kLong:
      return {type, ncclInt64, how};
    case at::kHalf:
      return {type, ncclFloat16, how};
    case at::kBFloat16:
      return {type, ncclBfloat16, how};
    case at::kFloat:
      return {type, ncclFloat32, how};
    case at::kDouble:
      return {type, ncclFloat64, how};
    case at::kComplexFloat:
    case at::kComplexDouble:
      if (op != Op::SUM && op != Op::AVG) refuse(type, op, "complex numbers have SUM and AVG");
      return {type, type == at::kComplexFloat ? ncclFloat32 : ncclFloat64, how, 2};
    default:
      refuse(type, op, "convert to another type first");
  }
}

}  // namespace xylem::torch
