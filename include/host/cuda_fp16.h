/* half, as NCCL's programs need it on the host: see xylem_small_floats.h. */
#ifndef XYLEM_HOST_CUDA_FP16_H_
#define XYLEM_HOST_CUDA_FP16_H_
#define __CUDA_FP16_TYPES_EXIST__
#include "xylem_small_floats.h"
#ifdef __cplusplus
typedef XylemSmallFloat<XylemHalfFormat> __half;
typedef __half half;
__host__ inline __half __float2half(float value) { return __half(value); }
__host__ inline float __half2float(__half value) { return value; }
#else
typedef struct {
  unsigned short __x;
} __half;
#endif
#endif /* XYLEM_HOST_CUDA_FP16_H_ */
