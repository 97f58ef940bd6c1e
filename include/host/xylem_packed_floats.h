/*
 * Floating-point numbers of 8, 6 and 4 bits, several in one integer, for C++ programs on the host: the first number is in
 * the lowest bits. And the numbers of 6 and 4 bits themselves, which have neither infinity nor NaN: what is too large
 * becomes the largest number, and NaN the largest positive one.
 */
#ifndef XYLEM_HOST_PACKED_FLOATS_H_
#define XYLEM_HOST_PACKED_FLOATS_H_

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "device_types.h"
#include "vector_types.h"

#ifdef __cplusplus

#include <type_traits>

/* The bits of exponent and mantissa after one bit of sign, and the exponent of 1. */
template <int kExponentBits, int kMantissaBits, int kExponentOfOne>
struct XylemTinyFormat {
  static unsigned encode(double value, cudaRoundMode rounding) {
    const unsigned largest = (1u << (kExponentBits + kMantissaBits)) - 1;
    if (value != value) return largest;
    const bool negative = std::signbit(value);
    const unsigned sign = negative ? largest + 1 : 0;
    const double size = std::fabs(value);
    if (size == 0) return sign;
    if (size > std::ldexp(1.0, 1 << kExponentBits)) return sign | largest;
    int exponent = std::ilogb(size);
    if (exponent < 1 - kExponentOfOne) exponent = 1 - kExponentOfOne; /* too small for a leading one */
    /* In units of the last place; a carry out of the mantissa goes into the exponent by itself. */
    const double exact = std::ldexp(size, kMantissaBits - exponent);
    const bool up = rounding == (negative ? cudaRoundMinInf : cudaRoundPosInf);
    const double units = rounding == cudaRoundNearest ? std::nearbyint(exact)
                         : up                         ? std::ceil(exact)
                                                      : std::floor(exact);
    const double bits = units + std::ldexp(exponent - 1 + kExponentOfOne, kMantissaBits);
    return sign | (bits > largest ? largest : static_cast<unsigned>(bits));
  }
  static float decode(unsigned bits) {
    const unsigned size = bits & ((1u << (kExponentBits + kMantissaBits)) - 1);
    const unsigned mantissa = size & ((1u << kMantissaBits) - 1), field = size >> kMantissaBits;
    const unsigned whole = field == 0 ? mantissa : mantissa + (1u << kMantissaBits);
    const int exponent = (field == 0 ? 1 : static_cast<int>(field)) - kExponentOfOne - kMantissaBits;
    const float value = static_cast<float>(std::ldexp(static_cast<double>(whole), exponent));
    return (bits >> (kExponentBits + kMantissaBits) & 1) != 0 ? -value : value;
  }
};

/* One number. Its bits are the lowest ones of __x. */
template <typename Format>
struct XylemTinyFloat {
  unsigned char __x;

  XylemTinyFloat() = default;
  template <typename Number>
  __host__ __device__ explicit XylemTinyFloat(Number value)
      : __x(static_cast<unsigned char>(Format::encode(static_cast<double>(value), cudaRoundNearest))) {}
  template <typename Number, typename = typename std::enable_if<std::is_arithmetic<Number>::value>::type>
  __host__ __device__ explicit operator Number() const {
    return static_cast<Number>(Format::decode(__x));
  }
  __host__ __device__ explicit operator __half() const { return __half(Format::decode(__x)); }
  __host__ __device__ explicit operator __nv_bfloat16() const { return __nv_bfloat16(Format::decode(__x)); }
};

/* Two numbers in a Storage, kBits apart. */
template <typename Element, typename Storage, int kBits>
struct XylemPackedTwo {
  Storage __x;

  XylemPackedTwo() = default;
  __host__ __device__ explicit XylemPackedTwo(float2 value) : __x(pack(value.x, value.y)) {}
  __host__ __device__ explicit XylemPackedTwo(double2 value) : __x(pack(value.x, value.y)) {}
  __host__ __device__ explicit XylemPackedTwo(__half2 value) : __x(pack(float(value.x), float(value.y))) {}
  __host__ __device__ explicit XylemPackedTwo(__nv_bfloat162 value)
      : __x(pack(float(value.x), float(value.y))) {}
  __host__ __device__ explicit operator float2() const {
    float2 both;
    both.x = at(0);
    both.y = at(1);
    return both;
  }
  __host__ __device__ explicit operator __half2() const { return __half2(__half(at(0)), __half(at(1))); }

 private:
  template <typename Number>
  static Storage pack(Number first, Number second) {
    const unsigned low = Element(first).__x, high = Element(second).__x;
    return static_cast<Storage>(low | high << kBits);
  }
  float at(int index) const {
    Element one;
    one.__x = static_cast<unsigned char>(__x >> index * kBits & ((1u << kBits) - 1));
    return static_cast<float>(one);
  }
};

/* Four numbers in a Storage, kBits apart. */
template <typename Element, typename Storage, int kBits>
struct XylemPackedFour {
  Storage __x;

  XylemPackedFour() = default;
  __host__ __device__ explicit XylemPackedFour(float4 value)
      : __x(pack(value.x, value.y, value.z, value.w)) {}
  template <typename Double4,
            typename = typename std::enable_if<std::is_same<decltype(Double4::w), double>::value>::type>
  __host__ __device__ explicit XylemPackedFour(Double4 value)
      : __x(pack(value.x, value.y, value.z, value.w)) {}
  __host__ __device__ explicit XylemPackedFour(__half2 low, __half2 high)
      : __x(pack(float(low.x), float(low.y), float(high.x), float(high.y))) {}
  __host__ __device__ explicit XylemPackedFour(__nv_bfloat162 low, __nv_bfloat162 high)
      : __x(pack(float(low.x), float(low.y), float(high.x), float(high.y))) {}
  __host__ __device__ explicit operator float4() const {
    float4 all;
    all.x = at(0);
    all.y = at(1);
    all.z = at(2);
    all.w = at(3);
    return all;
  }

 private:
  template <typename Number>
  static Storage pack(Number x, Number y, Number z, Number w) {
    const unsigned a = Element(x).__x, b = Element(y).__x, c = Element(z).__x, d = Element(w).__x;
    return static_cast<Storage>(a | b << kBits | c << 2 * kBits | d << 3 * kBits);
  }
  float at(int index) const {
    Element one;
    one.__x = static_cast<unsigned char>(__x >> index * kBits & ((1u << kBits) - 1));
    return static_cast<float>(one);
  }
};

#define XYLEM_PACKED_FLOATS(SHAPE, NAME, ELEMENT, STORAGE, BITS) \
  struct NAME : SHAPE<ELEMENT, STORAGE, BITS> {                  \
    using SHAPE<ELEMENT, STORAGE, BITS>::SHAPE;                  \
    NAME() = default;                                            \
  }
#define XYLEM_TINY_FLOAT(NAME, FORMAT)            \
  struct NAME : XylemTinyFloat<FORMAT> {          \
    using XylemTinyFloat<FORMAT>::XylemTinyFloat; \
    NAME() = default;                             \
  }

/* The conversions of bits under CUDA's names, for numbers of 6 and 4 bits (TEXT), whose formats TYPE names; ENCODE and
 * DECODE convert one number. */
#define XYLEM_TINY_CONVERSIONS(TEXT, TYPE, ENCODE, DECODE, BITS, ONE, TWO)                                \
  __host__ inline ONE __nv_cvt_double_to_##TEXT(double value, TYPE format, enum cudaRoundMode rounding) { \
    return static_cast<ONE>(ENCODE(value, format, rounding));                                             \
  }                                                                                                       \
  __host__ inline TWO __nv_cvt_double2_to_##TEXT##x2(double2 value, TYPE format,                          \
                                                     enum cudaRoundMode rounding) {                       \
    return static_cast<TWO>(ENCODE(value.x, format, rounding) | ENCODE(value.y, format, rounding)         \
                                                                    << (BITS));                           \
  }                                                                                                       \
  __host__ inline ONE __nv_cvt_float_to_##TEXT(float value, TYPE format, enum cudaRoundMode rounding) {   \
    return __nv_cvt_double_to_##TEXT(value, format, rounding);                                            \
  }                                                                                                       \
  __host__ inline TWO __nv_cvt_float2_to_##TEXT##x2(float2 value, TYPE format,                            \
                                                    enum cudaRoundMode rounding) {                        \
    return static_cast<TWO>(ENCODE(value.x, format, rounding) | ENCODE(value.y, format, rounding)         \
                                                                    << (BITS));                           \
  }                                                                                                       \
  __host__ inline ONE __nv_cvt_halfraw_to_##TEXT(__half_raw value, TYPE format,                           \
                                                 enum cudaRoundMode rounding) {                           \
    return __nv_cvt_float_to_##TEXT(float(__half(value)), format, rounding);                              \
  }                                                                                                       \
  __host__ inline TWO __nv_cvt_halfraw2_to_##TEXT##x2(__half2_raw value, TYPE format,                     \
                                                      enum cudaRoundMode rounding) {                      \
    return __nv_cvt_float2_to_##TEXT##x2(__half22float2(__half2(value)), format, rounding);               \
  }                                                                                                       \
  __host__ inline ONE __nv_cvt_bfloat16raw_to_##TEXT(__nv_bfloat16_raw value, TYPE format,                \
                                                     enum cudaRoundMode rounding) {                       \
    return __nv_cvt_float_to_##TEXT(float(__nv_bfloat16(value)), format, rounding);                       \
  }                                                                                                       \
  __host__ inline TWO __nv_cvt_bfloat16raw2_to_##TEXT##x2(__nv_bfloat162_raw value, TYPE format,          \
                                                          enum cudaRoundMode rounding) {                  \
    return __nv_cvt_float2_to_##TEXT##x2(__bfloat1622float2(__nv_bfloat162(value)), format, rounding);    \
  }                                                                                                       \
  __host__ inline __half_raw __nv_cvt_##TEXT##_to_halfraw(ONE bits, TYPE format) {                        \
    return __half(DECODE(bits, format));                                                                  \
  }                                                                                                       \
  __host__ inline __half2_raw __nv_cvt_##TEXT##x2_to_halfraw2(TWO bits, TYPE format) {                    \
    return __half2(__half(DECODE(bits, format)),                                                          \
                   __half(DECODE(static_cast<unsigned>(bits) >> (BITS), format)));                        \
  }

#endif /* __cplusplus */

#endif /* XYLEM_HOST_PACKED_FLOATS_H_ */
