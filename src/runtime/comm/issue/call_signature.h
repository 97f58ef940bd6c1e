#pragma once
// What a call says that has to fit what other ranks say: its function, size, type, operator, and root or
// peer. It travels as three words, between ranks (call_check.h) and to whoever reads a flight recorder
// (flight_layout.h); so what comes in is taken apart with care.
//
//   const CallSignature call = signatureOf(operation);
//   FlightLine line;
//   describe(line, call);     // `Broadcast of 1024 float from root 2`

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/comm/watch/flight_line.h"
#include "runtime/comm/issue/operation.h"

namespace xylem {

struct CallSignature {
  Function function = Function::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  // where the function has one
  bool scaled = false;           // its elements are multiplied by a scalar first, each rank's own
  std::int32_t peer = 0;         // the root, or whom to send to or receive from
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
// Where they are in the first word.
constexpr unsigned kCallTypeShift = 8, kCallOpShift = 16, kCallScaledShift = 24;
inline CallWords pack(const CallSignature& call) {
  return {static_cast<std::uint64_t>(call.function) |
              static_cast<std::uint64_t>(call.type) << kCallTypeShift |
              static_cast<std::uint64_t>(call.op) << kCallOpShift |
              std::uint64_t{call.scaled} << kCallScaledShift,
          static_cast<std::uint32_t>(call.peer), call.count};
}
// Nothing if the words are no call.
std::optional<CallSignature> unpackCall(const CallWords& words);

// Safe in signal handlers.
void describe(FlightLine& line, const CallSignature& call);
std::string describe(const CallSignature& call);

}  // namespace xylem
