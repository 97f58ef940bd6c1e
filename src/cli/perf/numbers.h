#pragma once
// Floating-point formats by their definition: sign, exponent, mantissa. Slow, and independent of the
// library's own conversions, which it is there to check.

#include <cstdint>

#include "core/data_type.h"

namespace xylem::cli {

struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  bool infinities;  // the highest exponent means infinity and NaN; otherwise only all bits set means NaN
  int bits() const { return 1 + exponentBits + mantissaBits; }
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  double unitRoundoff() const;  // the largest relative error of rounding to nearest
  double smallestSubnormal() const;
};

bool isFloat(DataType type);
bool isSigned(DataType type);
FloatFormat formatOf(DataType type);

// The value that a pattern of bits stands for.
double decode(const FloatFormat& format, std::uint64_t bits);
// The bits of a value that the format holds exactly.
std::uint64_t encodeExact(const FloatFormat& format, double value);

}  // namespace xylem::cli
