/*
 * __nv_bfloat16, __nv_bfloat162 and their functions on the host: numbers convert from and to float, rounding to
 * nearest and ties to even, and each operation is rounded once (xylem_small_floats.h). In C only the type is
 * there.
 *
 *   __nv_bfloat16 sum = __hadd(__float2bfloat16(1.5f), __float2bfloat16(2.0f));
 *
 * Stays empty if NVIDIA's own header was included before, and stands for it afterwards.
 */
#ifndef __CUDA_BF16_H__
#define __CUDA_BF16_H__
#define __CUDA_BF16_TYPES_EXIST__
#define XYLEM_HOST_CUDA_BF16
#include "xylem_small_floats.h"

typedef struct {
  unsigned short x;
} __nv_bfloat16_raw;
typedef struct __attribute__((aligned(4))) {
  unsigned short x, y;
} __nv_bfloat162_raw;

#ifdef __cplusplus
XYLEM_SMALL_FLOAT(__nv_bfloat16, XylemBfloat16Format, __nv_bfloat16_raw);
typedef __nv_bfloat16 nv_bfloat16;
XYLEM_SMALL_FLOAT_PAIR(__nv_bfloat162, __nv_bfloat16, __nv_bfloat162_raw);
typedef __nv_bfloat162 nv_bfloat162;

XYLEM_SMALL_FLOAT_FUNCTIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)
XYLEM_SMALL_FLOAT_MATH(__nv_bfloat16, h)
__host__ inline float __bfloat162float(__nv_bfloat16 value) { return value; }
__host__ inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
__host__ inline __nv_bfloat16 __double2bfloat16(double value) { return __nv_bfloat16(value); }
__host__ inline float2 __bfloat1622float2(__nv_bfloat162 value) { return value.floats(); }
__host__ inline __nv_bfloat162 __float22bfloat162_rn(float2 value) {
  return __nv_bfloat162(value.x, value.y);
}
#else
typedef struct {
  unsigned short __x;
} __nv_bfloat16;
typedef struct __attribute__((aligned(4))) {
  __nv_bfloat16 x, y;
} __nv_bfloat162;
#endif
#endif /* __CUDA_BF16_H__ */
