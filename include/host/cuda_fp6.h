/*
 * __nv_fp6_e3m2, __nv_fp6_e2m3, two and four of them, and the conversions of their bits on the host:
 * xylem_packed_floats.h. Each has 8 bits of memory, of which the lowest 6 are used. In C only the types are there.
 *
 *   float value = static_cast<float>(__nv_fp6_e3m2(1.3f));   // 1.25
 *
 * Stays empty if NVIDIA's own header was included before, and stands for it afterwards.
 */
#ifndef __CUDA_FP6_H__
#define __CUDA_FP6_H__
#define __CUDA_FP6_TYPES_EXIST__
#define XYLEM_HOST_CUDA_FP6
#include "cuda_fp8.h"

typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short __nv_fp6x2_storage_t;
typedef unsigned int __nv_fp6x4_storage_t;
typedef enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 } __nv_fp6_interpretation_t;

#ifdef __cplusplus
#include "xylem_packed_floats.h"
typedef XylemTinyFormat<3, 2, 3> XylemFloat6e3m2Format;
typedef XylemTinyFormat<2, 3, 1> XylemFloat6e2m3Format;
XYLEM_TINY_FLOAT(__nv_fp6_e3m2, XylemFloat6e3m2Format);
XYLEM_TINY_FLOAT(__nv_fp6_e2m3, XylemFloat6e2m3Format);
XYLEM_PACKED_FLOATS(XylemPackedTwo, __nv_fp6x2_e3m2, __nv_fp6_e3m2, __nv_fp6x2_storage_t, 8);
XYLEM_PACKED_FLOATS(XylemPackedTwo, __nv_fp6x2_e2m3, __nv_fp6_e2m3, __nv_fp6x2_storage_t, 8);
XYLEM_PACKED_FLOATS(XylemPackedFour, __nv_fp6x4_e3m2, __nv_fp6_e3m2, __nv_fp6x4_storage_t, 8);
XYLEM_PACKED_FLOATS(XylemPackedFour, __nv_fp6x4_e2m3, __nv_fp6_e2m3, __nv_fp6x4_storage_t, 8);

inline unsigned xylemEncodeFloat6(double value, __nv_fp6_interpretation_t format,
                                  enum cudaRoundMode rounding) {
  return format == __NV_E3M2 ? XylemFloat6e3m2Format::encode(value, rounding)
                             : XylemFloat6e2m3Format::encode(value, rounding);
}
inline float xylemDecodeFloat6(unsigned bits, __nv_fp6_interpretation_t format) {
  return format == __NV_E3M2 ? XylemFloat6e3m2Format::decode(bits) : XylemFloat6e2m3Format::decode(bits);
}
XYLEM_TINY_CONVERSIONS(fp6, __nv_fp6_interpretation_t, xylemEncodeFloat6, xylemDecodeFloat6, 8,
                       __nv_fp6_storage_t, __nv_fp6x2_storage_t)
#else
typedef struct {
  __nv_fp6_storage_t __x;
} __nv_fp6_e3m2;
typedef struct {
  __nv_fp6_storage_t __x;
} __nv_fp6_e2m3;
#endif
#endif /* __CUDA_FP6_H__ */
