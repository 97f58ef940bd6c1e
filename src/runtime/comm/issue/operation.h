#pragma once
// One call of nccl.h that moves data, checked and translated, on its way to a communicator; and its
// signature: the part of a call that must fit the calls of other ranks. A signature travels as three words,
// between ranks (call_check.h) and to the readers of a flight recorder (record_buffer.h), so unpackCall()
// believes nothing.
//
//   const CallSignature call = signatureOf(operation);
//   describe(call)     // `Broadcast of 1024 float from root 2`

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/data_type.h"
#include "core/kinds.h"
#include "runtime/comm/watch/text_line.h"
#include "runtime/device/stream.h"

namespace xylem::comm {

// The meaning of an ncclRedOp_t: a built-in operation, or a sum of elements that are multiplied by a scalar
// first.
struct UserReduction {
  ReduceOp op = ReduceOp::kSum;
  bool scaled = false;
  std::array<std::byte, 8> scalar{};  // of the operation's type, in its first bytes
  // Where to read the scalar when the operation starts; null: it is in `scalar`.
  const std::byte* scalarAddress = nullptr;
};

struct CommOperation {
  Function function = Function::kAllReduce;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::size_t count = 0;  // elements, as the caller gives it: of one rank for AllGather and ReduceScatter
  DataType type = DataType::kFloat32;
  UserReduction reduction;
  int peer = 0;  // the root, or the other end of a send or receive
  device::Stream* stream = nullptr;
  // On a GPU: the program's stream; `stream` then has the tasks that watch launches.
  void* gpuStream = nullptr;
  bool peersReach = false;  // its buffers, as gpu::Place has it
};

// Whether it is a collective with elements. Others are done at once: they get no channel and do not count.
inline bool isBusyCollective(const CommOperation& operation) {
  return !isPointToPoint(operation.function) && operation.count > 0;
}

// The part of a call that all its ranks must agree on.
struct CallSignature {
  Function function = Function::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  // if the function has one
  bool scaled = false;           // each rank multiplies its elements by a scalar of its own first
  std::int32_t peer = 0;         // the root, or the other end of a send or receive
  std::uint64_t count = 0;

  bool operator==(const CallSignature&) const = default;
};

inline CallSignature signatureOf(const CommOperation& operation) {
  const bool combines = reduces(operation.function);
  return {.function = operation.function,
          .type = operation.type,
          .op = combines ? operation.reduction.op : ReduceOp::kSum,
          .scaled = combines && operation.reduction.scaled,
          .peer = operation.peer,
          .count = operation.count};
}

using CallWords = std::array<std::uint64_t, 3>;
// Bit positions in the first word.
constexpr unsigned kCallTypeShift = 8, kCallOpShift = 16, kCallScaledShift = 24;
inline CallWords pack(const CallSignature& call) {
  return {static_cast<std::uint64_t>(call.function) |
              static_cast<std::uint64_t>(call.type) << kCallTypeShift |
              static_cast<std::uint64_t>(call.op) << kCallOpShift |
              std::uint64_t{call.scaled} << kCallScaledShift,
          static_cast<std::uint32_t>(call.peer), call.count};
}
// Nothing if the words are no valid call.
std::optional<CallSignature> unpackCall(const CallWords& words);

// Safe in signal handlers.
void describe(TextLine& line, const CallSignature& call);
std::string describe(const CallSignature& call);

}  // namespace xylem::comm
