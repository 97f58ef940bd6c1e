/*
 * __nv_fp4_e2m1, two and four of them, and the conversions of their bits on the host: xylem_packed_floats.h. One has 8 bits
 * of memory, of which the lowest 4 are used; two share 8 bits, four 16. In C only the types are there.
 *
 *   __nv_fp4x2_storage_t two = __nv_cvt_float2_to_fp4x2(make_float2(1, 6), __NV_E2M1, cudaRoundNearest);   // 0x72
 *
 * Stays empty if NVIDIA's own header was included before, and stands for it afterwards.
 */
#ifndef __CUDA_FP4_H__
#define __CUDA_FP4_H__
#define __CUDA_FP4_TYPES_EXIST__
#define XYLEM_HOST_CUDA_FP4
#include "cuda_fp8.h"

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
typedef enum __nv_fp4_interpretation_t { __NV_E2M1 } __nv_fp4_interpretation_t;

#ifdef __cplusplus
#include "xylem_packed_floats.h"
typedef XylemTinyFormat<2, 1, 1> XylemFloat4e2m1Format;
XYLEM_TINY_FLOAT(__nv_fp4_e2m1, XylemFloat4e2m1Format);
XYLEM_PACKED_FLOATS(XylemPackedTwo, __nv_fp4x2_e2m1, __nv_fp4_e2m1, __nv_fp4x2_storage_t, 4);
XYLEM_PACKED_FLOATS(XylemPackedFour, __nv_fp4x4_e2m1, __nv_fp4_e2m1, __nv_fp4x4_storage_t, 4);

inline unsigned xylemEncodeFloat4(double value, __nv_fp4_interpretation_t, enum cudaRoundMode rounding) {
  return XylemFloat4e2m1Format::encode(value, rounding);
}
inline float xylemDecodeFloat4(unsigned bits, __nv_fp4_interpretation_t) {
  return XylemFloat4e2m1Format::decode(bits);
}
XYLEM_TINY_CONVERSIONS(fp4, __nv_fp4_interpretation_t, xylemEncodeFloat4, xylemDecodeFloat4, 4,
                       __nv_fp4_storage_t, __nv_fp4x2_storage_t)
#else
typedef struct {
  __nv_fp4_storage_t __x;
} __nv_fp4_e2m1;
#endif
#endif /* __CUDA_FP4_H__ */
