#pragma once
// Elements of every data type for tests: from and to doubles, and how far a reduced one may be off.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/collectives/reference_floats.h"
#include "core/data_type.h"

namespace xylem::testing {

inline bool isFloat(DataType type) { return static_cast<int>(type) >= static_cast<int>(DataType::kFloat16); }

inline bool isSigned(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
}

inline double toDouble(DataType type, const std::byte* at) {
  if (type == DataType::kFloat32) {
    float v = 0;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  if (type == DataType::kFloat64) {
    double v = 0;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, elementBytes(type));
  if (isFloat(type)) return decode(formatOf(type), bits);
  const int unused = static_cast<int>(64 - 8 * elementBytes(type));
  if (isSigned(type)) return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
  return static_cast<double>(bits);
}

inline void fromDouble(DataType type, double value, std::byte* at) {
  if (type == DataType::kFloat32) {
    const auto v = static_cast<float>(value);
    std::memcpy(at, &v, sizeof v);
  } else if (type == DataType::kFloat64) {
    std::memcpy(at, &value, sizeof value);
  } else {
    const std::uint64_t bits = isFloat(type) ? encode(formatOf(type), value)
                                             : static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    std::memcpy(at, &bits, elementBytes(type));
  }
}

// The relative error of rounding once.
inline double roundingOf(DataType type) {
  switch (type) {
    case DataType::kFloat64:
      return std::ldexp(1, -53);
    case DataType::kFloat32:
      return std::ldexp(1, -24);
    case DataType::kFloat16:
      return std::ldexp(1, -11);
    case DataType::kBfloat16:
      return std::ldexp(1, -8);
    case DataType::kFloat8e4m3:
      return std::ldexp(1, -4);
    case DataType::kFloat8e5m2:
      return std::ldexp(1, -3);
    default:
      return 0;
  }
}

}  // namespace xylem::testing
