#pragma once
// Floating-point formats by their definition, for comparison with the fast conversions.

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/data_type.h"

namespace xylem::testing {

struct Format {
  int exponentBits;
  int mantissaBits;
  bool infinities;  // e4m3 has none: only all ones is NaN
  bool saturates;   // what is too large becomes the largest finite value
  int bits() const { return 1 + exponentBits + mantissaBits; }
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  std::uint64_t ones(int n) const { return (std::uint64_t{1} << n) - 1; }
  std::uint64_t infinity() const { return ones(exponentBits) << mantissaBits; }
  std::uint64_t largest() const {
    return infinities ? infinity() - 1 : ones(exponentBits + mantissaBits) - 1;
  }
};

inline Format formatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10, true, false};
    case DataType::kBfloat16:
      return {8, 7, true, false};
    case DataType::kFloat8e4m3:
      return {4, 3, false, true};
    case DataType::kFloat8e5m2:
      return {5, 2, true, true};
    default:
      return {8, 23, true, false};
  }
}

inline double decode(const Format& f, std::uint64_t bits) {
  const std::uint64_t mantissa = bits & f.ones(f.mantissaBits);
  const auto exponent = static_cast<int>(bits >> f.mantissaBits & f.ones(f.exponentBits));
  const double sign = (bits >> (f.bits() - 1) & 1) != 0 ? -1 : 1;
  const bool top = exponent == static_cast<int>(f.ones(f.exponentBits));
  if (top && f.infinities)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (top && mantissa == f.ones(f.mantissaBits)) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - f.bias() - f.mantissaBits);
  return sign * std::ldexp(static_cast<double>(mantissa + f.ones(f.mantissaBits) + 1),
                           exponent - f.bias() - f.mantissaBits);
}

// Rounded to nearest, ties to even. NaN gives any NaN.
inline std::uint64_t encode(const Format& f, double value) {
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (f.bits() - 1) : 0;
  if (std::isnan(value)) return sign | f.ones(f.exponentBits + f.mantissaBits);
  const double magnitude = std::fabs(value);
  const std::uint64_t tooLarge = sign | (f.saturates ? f.largest() : f.infinity());
  if (std::isinf(magnitude)) return tooLarge;
  int exponent = magnitude == 0 ? -10000 : std::ilogb(magnitude);
  exponent = std::max(exponent, 1 - f.bias());
  // In units of the last place; nearbyint rounds ties to even.
  const auto units =
      static_cast<std::uint64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissaBits - exponent)));
  // A carry out of the mantissa moves into the exponent by itself.
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent + f.bias() - 1) << f.mantissaBits) + units;
  return bits > f.largest() ? tooLarge : sign | bits;
}

}  // namespace xylem::testing
