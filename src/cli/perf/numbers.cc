#include "cli/perf/numbers.h"

#include <cmath>
#include <limits>

namespace xylem::cli {

double FloatFormat::unitRoundoff() const { return std::ldexp(1.0, -mantissaBits - 1); }
double FloatFormat::smallestSubnormal() const { return std::ldexp(1.0, 1 - bias() - mantissaBits); }

bool isFloat(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kFloat32 || type == DataType::kFloat64 ||
         type == DataType::kBfloat16 || type == DataType::kFloat8e4m3 || type == DataType::kFloat8e5m2;
}

bool isSigned(DataType type) {
  return type != DataType::kUint8 && type != DataType::kUint32 && type != DataType::kUint64;
}

FloatFormat formatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10, true};
    case DataType::kBfloat16:
      return {8, 7, true};
    case DataType::kFloat8e4m3:
      return {4, 3, false};
    case DataType::kFloat8e5m2:
      return {5, 2, true};
    case DataType::kFloat32:
      return {8, 23, true};
    default:
      return {11, 52, true};
  }
}

double decode(const FloatFormat& format, std::uint64_t bits) {
  const std::uint64_t mantissaMask = (std::uint64_t{1} << format.mantissaBits) - 1;
  const std::uint64_t exponentMask = (std::uint64_t{1} << format.exponentBits) - 1;
  const std::uint64_t mantissa = bits & mantissaMask;
  const std::uint64_t exponent = bits >> format.mantissaBits & exponentMask;
  const bool negative = (bits >> (format.bits() - 1) & 1) != 0;
  double value = 0;
  if (exponent == exponentMask && format.infinities)
    value =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == exponentMask && mantissa == mantissaMask)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<double>(mantissa), 1 - format.bias() - format.mantissaBits);
  else
    value = std::ldexp(static_cast<double>(mantissa | (mantissaMask + 1)),
                       static_cast<int>(exponent) - format.bias() - format.mantissaBits);
  return negative ? -value : value;
}

std::uint64_t encodeExact(const FloatFormat& format, double value) {
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (format.bits() - 1) : 0;
  if (value == 0) return sign;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 to 1
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, format.mantissaBits + 1));
  const auto biased = static_cast<std::uint64_t>(exponent - 1 + format.bias());
  return sign | biased << format.mantissaBits | (mantissa & ((std::uint64_t{1} << format.mantissaBits) - 1));
}

}  // namespace xylem::cli
