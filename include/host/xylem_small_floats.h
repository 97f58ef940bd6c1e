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
#include <cstring>

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
  enum { kMantissa = 2, kBias = 15, kLargest = 0x7b, kNan = 0x7f, kOverflow = 0x7b };
};

template <typename Format>
struct XylemSmallFloat {
  typedef typename Format::Bits Bits;
  Bits __x;

  XylemSmallFloat() = default;
  template <typename Number>
  __host__ __device__ XylemSmallFloat(Number value) : __x(encode(static_cast<double>(value))) {}
  __host__ __device__ operator float() const { return decode(__x); }

 private:
  static Bits encode(double value) {
    const Bits sign = static_cast<Bits>(std::signbit(value) ? 1u << (8 * sizeof(Bits) - 1) : 0u);
    const double size = std::fabs(value);
    if (size != size) return static_cast<Bits>((sizeof(Bits) == 1 ? 0u : sign) | Format::kNan);
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
    if (bits > static_cast<double>(static_cast<int>(Format::kLargest)))
      return static_cast<Bits>(sign | Format::kOverflow);
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

/* The bits of a float of 8 bits, which have no name of their own in CUDA. */
template <int kFormat>
struct XylemFloat8Raw {
  unsigned char x;
};

/* Declares a float of FORMAT. Its bits are __x; RAW is the structure by which they go in and out as they are. It
 * is trivial, so that it may be in a union. */
#define XYLEM_SMALL_FLOAT(NAME, FORMAT, RAW)                  \
  struct NAME : XylemSmallFloat<FORMAT> {                     \
    using XylemSmallFloat<FORMAT>::XylemSmallFloat;           \
    NAME() = default;                                         \
    __host__ __device__ NAME(const RAW& raw) { __x = raw.x; } \
    __host__ __device__ NAME& operator=(const RAW& raw) {     \
      __x = raw.x;                                            \
      return *this;                                           \
    }                                                         \
    __host__ __device__ operator RAW() const {                \
      RAW raw;                                                \
      raw.x = __x;                                            \
      return raw;                                             \
    }                                                         \
    template <typename Number>                                \
    NAME& operator+=(Number value) {                          \
      return *this = NAME(float(*this) + float(value));       \
    }                                                         \
    template <typename Number>                                \
    NAME& operator-=(Number value) {                          \
      return *this = NAME(float(*this) - float(value));       \
    }                                                         \
    template <typename Number>                                \
    NAME& operator*=(Number value) {                          \
      return *this = NAME(float(*this) * float(value));       \
    }                                                         \
    template <typename Number>                                \
    NAME& operator/=(Number value) {                          \
      return *this = NAME(float(*this) / float(value));       \
    }                                                         \
  }

#define XYLEM_SMALL_FLOAT_PAIR(NAME, ELEMENT, RAW)                                   \
  struct __attribute__((aligned(4))) NAME {                                          \
    ELEMENT x, y;                                                                    \
    NAME() = default;                                                                \
    __host__ __device__ NAME(ELEMENT first, ELEMENT second) : x(first), y(second) {} \
    __host__ __device__ NAME(const RAW& raw) {                                       \
      x.__x = raw.x;                                                                 \
      y.__x = raw.y;                                                                 \
    }                                                                                \
    __host__ __device__ operator RAW() const {                                       \
      RAW raw;                                                                       \
      raw.x = x.__x;                                                                 \
      raw.y = y.__x;                                                                 \
      return raw;                                                                    \
    }                                                                                \
    __host__ __device__ float2 floats() const {                                      \
      float2 both;                                                                   \
      both.x = x;                                                                    \
      both.y = y;                                                                    \
      return both;                                                                   \
    }                                                                                \
  }

/* As CUDA has it: if one of two numbers is none, the other one is the greater and the smaller. */
inline float xylemGreater(float a, float b) { return a != a ? b : b != b ? a : a < b ? b : a; }
inline float xylemSmaller(float a, float b) { return a != a ? b : b != b ? a : b < a ? b : a; }

#define XYLEM_SMALL_FLOAT_2(NAME, T, T2, EXPRESSION)       \
  __host__ __device__ inline T __h##NAME(T p, T q) {       \
    const float a = p, b = q;                              \
    return T(EXPRESSION);                                  \
  }                                                        \
  __host__ __device__ inline T2 __h##NAME##2(T2 p, T2 q) { \
    return T2(__h##NAME(p.x, q.x), __h##NAME(p.y, q.y));   \
  }
#define XYLEM_SMALL_FLOAT_COMPARISON(NAME, T, EXPRESSION) \
  __host__ __device__ inline bool __h##NAME(T p, T q) {   \
    const float a = p, b = q;                             \
    return EXPRESSION;                                    \
  }
#define XYLEM_SMALL_FLOAT_FROM(SOURCE, WORD, T, TEXT) \
  __host__ __device__ inline T __##WORD##2##TEXT##_rn(SOURCE value) { return T(value); }
#define XYLEM_SMALL_FLOAT_FUNCTIONS(T, T2, TEXT)                                                    \
  XYLEM_SMALL_FLOAT_2(add, T, T2, a + b)                                                            \
  XYLEM_SMALL_FLOAT_2(sub, T, T2, a - b)                                                            \
  XYLEM_SMALL_FLOAT_2(mul, T, T2, a* b)                                                             \
  XYLEM_SMALL_FLOAT_2(max, T, T2, xylemGreater(a, b))                                               \
  XYLEM_SMALL_FLOAT_2(min, T, T2, xylemSmaller(a, b))                                               \
  __host__ __device__ inline T __hdiv(T p, T q) { return T(float(p) / float(q)); }                  \
  __host__ __device__ inline T __hfma(T p, T q, T r) {                                              \
    return T(double(float(p)) * double(float(q)) + double(float(r)));                               \
  }                                                                                                 \
  __host__ __device__ inline T __hneg(T p) { return T(-float(p)); }                                 \
  __host__ __device__ inline T __habs(T p) { return T(std::fabs(float(p))); }                       \
  __host__ __device__ inline bool __hisnan(T p) { return std::isnan(float(p)); }                    \
  __host__ __device__ inline int __hisinf(T p) {                                                    \
    return std::isinf(float(p)) ? (float(p) < 0 ? -1 : 1) : 0;                                      \
  }                                                                                                 \
  XYLEM_SMALL_FLOAT_COMPARISON(eq, T, a == b)                                                       \
  XYLEM_SMALL_FLOAT_COMPARISON(ne, T, a<b || a> b)                                                  \
  XYLEM_SMALL_FLOAT_COMPARISON(lt, T, a < b)                                                        \
  XYLEM_SMALL_FLOAT_COMPARISON(le, T, a <= b)                                                       \
  XYLEM_SMALL_FLOAT_COMPARISON(gt, T, a > b)                                                        \
  XYLEM_SMALL_FLOAT_COMPARISON(ge, T, a >= b)                                                       \
  XYLEM_SMALL_FLOAT_FROM(float, float, T, TEXT)                                                     \
  XYLEM_SMALL_FLOAT_FROM(int, int, T, TEXT)                                                         \
  XYLEM_SMALL_FLOAT_FROM(unsigned int, uint, T, TEXT)                                               \
  XYLEM_SMALL_FLOAT_FROM(short, short, T, TEXT)                                                     \
  XYLEM_SMALL_FLOAT_FROM(unsigned short, ushort, T, TEXT)                                           \
  XYLEM_SMALL_FLOAT_FROM(long long, ll, T, TEXT)                                                    \
  XYLEM_SMALL_FLOAT_FROM(unsigned long long, ull, T, TEXT)                                          \
  __host__ __device__ inline T2 __##TEXT##2##TEXT##2(T value) { return T2(value, value); }          \
  __host__ __device__ inline T2 __halves2##TEXT##2(T first, T second) { return T2(first, second); } \
  __host__ __device__ inline T2 __floats2##TEXT##2_rn(float first, float second) { return T2(first, second); }
#define XYLEM_SMALL_FLOAT_MATH(T, PREFIX)                                                 \
  __host__ __device__ inline T PREFIX##exp(T value) { return T(std::exp(float(value))); } \
  __host__ __device__ inline T PREFIX##log(T value) { return T(std::log(float(value))); } \
  __host__ __device__ inline T PREFIX##sqrt(T value) { return T(std::sqrt(float(value))); }

#endif /* __cplusplus */

#endif /* XYLEM_HOST_SMALL_FLOATS_H_ */
