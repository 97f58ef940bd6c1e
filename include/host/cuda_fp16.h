/*
 * half, __half2 and their functions on the host: numbers convert from and to float, rounding to nearest and ties
 * to even, and each operation is rounded once (xylem_small_floats.h). In C only the type is there.
 *
 *   __half sum = __hadd(__float2half(1.5f), __float2half(2.0f));
 *
 * Stays empty if NVIDIA's own header was included before, and stands for it afterwards.
 */
#ifndef __CUDA_FP16_H__
#define __CUDA_FP16_H__
#define __CUDA_FP16_TYPES_EXIST__
#define XYLEM_HOST_CUDA_FP16
#include "xylem_small_floats.h"

typedef struct {
  unsigned short x;
} __half_raw;
typedef struct __attribute__((aligned(4))) {
  unsigned short x, y;
} __half2_raw;

#ifdef __cplusplus
XYLEM_SMALL_FLOAT(__half, XylemHalfFormat, __half_raw);
typedef __half half;
typedef __half nv_half;
XYLEM_SMALL_FLOAT_PAIR(__half2, __half, __half2_raw);
typedef __half2 half2;
typedef __half2 nv_half2;

XYLEM_SMALL_FLOAT_FUNCTIONS(__half, __half2, half)
XYLEM_SMALL_FLOAT_MATH(__half, h)
__host__ inline float __half2float(__half value) { return value; }
__host__ inline __half __float2half(float value) { return __half(value); }
__host__ inline __half __double2half(double value) { return __half(value); }
__host__ inline float2 __half22float2(__half2 value) { return value.floats(); }
__host__ inline __half2 __float22half2_rn(float2 value) { return __half2(value.x, value.y); }
#else
typedef struct {
  unsigned short __x;
} __half;
typedef struct __attribute__((aligned(4))) {
  __half x, y;
} __half2;
#endif
#endif /* __CUDA_FP16_H__ */
