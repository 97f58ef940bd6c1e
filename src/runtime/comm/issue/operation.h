#pragma once
// One call of nccl.h that moves data, checked and translated, on its way to a communicator.

#include <array>
#include <cstddef>

#include "core/data_type.h"
#include "core/kinds.h"
#include "runtime/device/stream.h"

namespace xylem {

enum class Function { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce, kSend, kRecv, kAlltoAll };
constexpr int kFunctions = 8;

constexpr bool isPointToPoint(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}
// Whether the planner knows it; an all-to-all is sends and receives to it.
constexpr bool isPlanned(Function function) { return function <= Function::kAllReduce; }
// Of those only.
constexpr Collective collectiveOf(Function function) { return static_cast<Collective>(function); }
// Whether elements are combined.
constexpr bool reduces(Function function) {
  return function == Function::kReduce || function == Function::kReduceScatter ||
         function == Function::kAllReduce;
}
const char* name(Function function);

// What ncclRedOp_t means: a built-in operation, or a sum of elements multiplied by a scalar first.
struct UserReduction {
  ReduceOp op = ReduceOp::kSum;
  bool scaled = false;
  std::array<std::byte, 8> scalar{};  // of the operation's type, in its first bytes
  const std::byte* scalarAddress =
      nullptr;  // where the scalar is read when the operation starts; null: `scalar`
};

struct CommOperation {
  Function function = Function::kAllReduce;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::size_t count = 0;  // elements, as the caller gave it: of one rank for AllGather and ReduceScatter
  DataType type = DataType::kFloat32;
  UserReduction reduction;
  int peer = 0;  // the root, or whom to send to or receive from
  Stream* stream = nullptr;
  void* event = nullptr;  // a profiler's, of this call
};

}  // namespace xylem
