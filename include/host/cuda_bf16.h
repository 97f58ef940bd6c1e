/* __nv_bfloat16, as NCCL's programs need it on the host: see xylem_small_floats.h. */
#ifndef XYLEM_HOST_CUDA_BF16_H_
#define XYLEM_HOST_CUDA_BF16_H_
#define __CUDA_BF16_TYPES_EXIST__
#include "xylem_small_floats.h"
#ifdef __cplusplus
typedef XylemSmallFloat<XylemBfloat16Format> __nv_bfloat16;
typedef __nv_bfloat16 nv_bfloat16;
__host__ inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
__host__ inline float __bfloat162float(__nv_bfloat16 value) { return value; }
#else
typedef struct {
  unsigned short __x;
} __nv_bfloat16;
#endif
#endif /* XYLEM_HOST_CUDA_BF16_H_ */
