#pragma once
// The types of elements and the ways to combine them, with NCCL's numbers.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xylem {

enum class DataType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8e4m3 = 10,
  kFloat8e5m2 = 11,
};
constexpr int kDataTypes = 12;

enum class ReduceOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };
constexpr int kReduceOps = 5;

inline constexpr std::uint8_t kElementBytes[kDataTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
constexpr std::size_t elementBytes(DataType type) { return kElementBytes[static_cast<int>(type)]; }

// The names nccl-tests uses: "float", "half", "int32"; "sum".
constexpr std::string_view name(DataType type) {
  constexpr std::string_view kNames[kDataTypes] = {"int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
                                                   "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return kNames[static_cast<int>(type)];
}
constexpr std::string_view name(ReduceOp op) {
  constexpr std::string_view kNames[kReduceOps] = {"sum", "prod", "max", "min", "avg"};
  return kNames[static_cast<int>(op)];
}

}  // namespace xylem
