/* __nv_fp8_e4m3 and __nv_fp8_e5m2, as NCCL's programs need them on the host: see xylem_small_floats.h. */
#ifndef XYLEM_HOST_CUDA_FP8_H_
#define XYLEM_HOST_CUDA_FP8_H_
#define __CUDA_FP8_TYPES_EXIST__
#include "xylem_small_floats.h"
#ifdef __cplusplus
typedef XylemSmallFloat<XylemFloat8e4m3Format> __nv_fp8_e4m3;
typedef XylemSmallFloat<XylemFloat8e5m2Format> __nv_fp8_e5m2;
#else
typedef struct {
  unsigned char __x;
} __nv_fp8_e4m3;
typedef struct {
  unsigned char __x;
} __nv_fp8_e5m2;
#endif
#endif /* XYLEM_HOST_CUDA_FP8_H_ */
