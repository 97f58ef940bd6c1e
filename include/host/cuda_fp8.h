/*
 * __nv_fp8_e4m3, __nv_fp8_e5m2, two and four of them, and the conversions of their bits on the host:
 * xylem_small_floats.h and xylem_packed_floats.h. In C only the types are there.
 *
 *   __nv_fp8_storage_t bits = __nv_cvt_float_to_fp8(1.5f, __NV_SATFINITE, __NV_E4M3);
 *
 * Stays empty if NVIDIA's own header was included before, and stands for it afterwards.
 */
#ifndef __CUDA_FP8_H__
#define __CUDA_FP8_H__
#define __CUDA_FP8_TYPES_EXIST__
#define XYLEM_HOST_CUDA_FP8
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "xylem_small_floats.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
/* Numbers that are too large become the largest one, or infinity (not a number, if the format has no infinity). */
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

#ifdef __cplusplus
XYLEM_SMALL_FLOAT(__nv_fp8_e4m3, XylemFloat8e4m3Format, XylemFloat8Raw<0>);
XYLEM_SMALL_FLOAT(__nv_fp8_e5m2, XylemFloat8e5m2Format, XylemFloat8Raw<1>);

__host__ inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t format) {
  const bool e4m3 = format == __NV_E4M3;
  const unsigned char sign = std::signbit(value) ? 0x80 : 0;
  if (std::isinf(value) && saturation == __NV_SATFINITE)
    return static_cast<unsigned char>(sign | (e4m3 ? 0x7e : 0x7b));
  if (saturation == __NV_NOSAT) {
    /* Half-way between the largest number and the next one that the format would have. */
    const float limit = e4m3 ? 464.0f : 61440.0f;
    if (std::fabs(value) > limit || (!e4m3 && std::fabs(value) == limit))
      return static_cast<unsigned char>(sign | (e4m3 ? 0x7f : 0x7c));
  }
  return e4m3 ? __nv_fp8_e4m3(value).__x : __nv_fp8_e5m2(value).__x;
}
__host__ inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t saturation,
                                                          __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(static_cast<float>(value), saturation, format);
}
__host__ inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw value, __nv_saturation_t saturation,
                                                           __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(__half(value), saturation, format);
}
__host__ inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw value,
                                                               __nv_saturation_t saturation,
                                                               __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(value), saturation, format);
}
__host__ inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t bits,
                                                   __nv_fp8_interpretation_t format) {
  __nv_fp8_e4m3 e4m3;
  __nv_fp8_e5m2 e5m2;
  e4m3.__x = e5m2.__x = bits;
  return __half(format == __NV_E4M3 ? static_cast<float>(e4m3) : static_cast<float>(e5m2));
}
__host__ inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 value, __nv_saturation_t saturation,
                                                              __nv_fp8_interpretation_t format) {
  const unsigned low = __nv_cvt_float_to_fp8(value.x, saturation, format);
  const unsigned high = __nv_cvt_float_to_fp8(value.y, saturation, format);
  return static_cast<__nv_fp8x2_storage_t>(low | high << 8);
}
__host__ inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 value, __nv_saturation_t saturation,
                                                               __nv_fp8_interpretation_t format) {
  const unsigned low = __nv_cvt_double_to_fp8(value.x, saturation, format);
  const unsigned high = __nv_cvt_double_to_fp8(value.y, saturation, format);
  return static_cast<__nv_fp8x2_storage_t>(low | high << 8);
}
__host__ inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw value,
                                                                __nv_saturation_t saturation,
                                                                __nv_fp8_interpretation_t format) {
  return __nv_cvt_float2_to_fp8x2(__half22float2(__half2(value)), saturation, format);
}
__host__ inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw value,
                                                                    __nv_saturation_t saturation,
                                                                    __nv_fp8_interpretation_t format) {
  return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(__nv_bfloat162(value)), saturation, format);
}
__host__ inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t bits,
                                                       __nv_fp8_interpretation_t format) {
  return __half2(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits & 0xff), format)),
                 __half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits >> 8), format)));
}

#include "xylem_packed_floats.h"
XYLEM_PACKED_FLOATS(XylemPackedTwo, __nv_fp8x2_e4m3, __nv_fp8_e4m3, __nv_fp8x2_storage_t, 8);
XYLEM_PACKED_FLOATS(XylemPackedTwo, __nv_fp8x2_e5m2, __nv_fp8_e5m2, __nv_fp8x2_storage_t, 8);
XYLEM_PACKED_FLOATS(XylemPackedFour, __nv_fp8x4_e4m3, __nv_fp8_e4m3, __nv_fp8x4_storage_t, 8);
XYLEM_PACKED_FLOATS(XylemPackedFour, __nv_fp8x4_e5m2, __nv_fp8_e5m2, __nv_fp8x4_storage_t, 8);
#else
typedef struct {
  unsigned char __x;
} __nv_fp8_e4m3;
typedef struct {
  unsigned char __x;
} __nv_fp8_e5m2;
#endif

/* NVIDIA's headers of these names take what their own cuda_fp8.h has and this one has not. */
#include "cuda_fp4.h"
#include "cuda_fp6.h"
#endif /* __CUDA_FP8_H__ */
