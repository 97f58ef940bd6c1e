/*
 * Floating-point numbers of 16 and 8 bits for C++ programs on the host: they convert from and to float,
 * rounding to nearest and ties to even, and compute as floats. Bits and rounding are those of ncclFloat16,
 * ncclBfloat16, ncclFloat8e4m3 and ncclFloat8e5m2; values that are too large become infinite, or with 8 bits
 * the largest number.
 */
#ifndef XYLEM_HOST_SMALL_FLOATS_H_
#define XYLEM_HOST_SMALL_FLOATS_H_

#include "vector_types.h"

#ifdef __cplusplus

#include <cmath>
#include <cstdint>

/* The bits of exponent and mantissa, the exponent of 1, and the largest finite number. */
struct XylemHalfFormat {
  typedef std::uint16_t Bits;
  enum { kMantissa = 10, kBias = 15, kLargest = 0x7bff, kNan = 0x7e00, kOverflow = 0x7c00 };
};
struct XylemBfloat16Format {
  typedef std::uint16_t Bits;
  enum { kMantissa = 7, kBias = 127, kLargest = 0x7f7f, kNan = 0x7fc0, kOverflow = 0x7f80 };
};
struct XylemFloat8e4m3Format { /* no infinity */
  typedef std::uint8_t Bits;
  enum { kMantissa = 3, kBias = 7, kLargest = 0x7e, kNan = 0x7f, kOverflow = 0x7e };
};
struct XylemFloat8e5m2Format {
  typedef std::uint8_t Bits;
  enum { kMantissa = 2, kBias = 15, kLargest = 0x7b, kNan = 0x7e, kOverflow = 0x7b };
};

template <typename Format>
struct XylemSmallFloat {
  typedef typename Format::Bits Bits;
  Bits __x;

  XylemSmallFloat() = default;
  template <typename Number>
  __host__ __device__ XylemSmallFloat(Number value) : __x(encode(static_cast<float>(value))) {}
  __host__ __device__ operator float() const { return decode(__x); }

 private:
  static Bits encode(float value) {
    const Bits sign = static_cast<Bits>(std::signbit(value) ? 1u << (8 * sizeof(Bits) - 1) : 0u);
    const double size = std::fabs(static_cast<double>(value));
    if (size != size) return static_cast<Bits>(sign | Format::kNan);
    if (std::isinf(value) && sizeof(Bits) == 1 && Format::kMantissa == 2)
      return static_cast<Bits>(sign | 0x7c);
    if (size == 0) return sign;
    int exponent = std::ilogb(size);
    if (exponent < 1 - Format::kBias) exponent = 1 - Format::kBias; /* too small for a leading one */
    /* In units of the last place: exact in double, then to the nearest, even between two. */
    const double units = std::nearbyint(std::ldexp(size, Format::kMantissa - exponent));
    if (units > 4 * (1 << Format::kMantissa)) return static_cast<Bits>(sign | Format::kOverflow);
    /* A carry out of the mantissa goes into the exponent by itself. */
    const double bits = units + std::ldexp(exponent - 1 + Format::kBias, Format::kMantissa);
    if (bits > static_cast<double>(static_cast<int>(Format::kLargest))) return static_cast<Bits>(sign | Format::kOverflow);
    return static_cast<Bits>(sign | static_cast<Bits>(bits));
  }
  static float decode(Bits bits) {
    const unsigned size = bits & ~(1u << (8 * sizeof(Bits) - 1));
    const bool negative = size != bits;
    const unsigned mantissa = size & ((1u << Format::kMantissa) - 1), field = size >> Format::kMantissa;
    double value;
    if (size > static_cast<unsigned>(Format::kLargest))
      value = mantissa == 0 ? HUGE_VAL : NAN;
    else if (field == 0)
      value = std::ldexp(static_cast<double>(mantissa), 1 - Format::kBias - Format::kMantissa);
    else
      value = std::ldexp(static_cast<double>(mantissa + (1u << Format::kMantissa)),
                         static_cast<int>(field) - Format::kBias - Format::kMantissa);
    return static_cast<float>(negative ? -value : value);
  }
};

#endif /* __cplusplus */

#endif /* XYLEM_HOST_SMALL_FLOATS_H_ */
