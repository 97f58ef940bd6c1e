/*
 * The qualifiers of functions and variables that say where they live. On host devices that is always the host.
 *
 *   __host__ __device__ inline float square(float x) { return x * x; }
 */
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__

#ifndef __host__
#define __host__
#endif
#ifndef __device__
#define __device__
#endif
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#ifndef __launch_bounds__
#define __launch_bounds__(...)
#endif
/* A kernel compiles, as C++ that only other code of the device may call; what starts one does not. */
#ifndef __global__
#define __global__ \
  __attribute__((error("kernels cannot be launched on Xylem's host devices, which are CPUs")))
#endif
#ifndef __align__
#define __align__(BYTES) __attribute__((aligned(BYTES)))
#endif
/* Words of NVIDIA's other headers, which mean nothing to a host compiler. */
#define __builtin_align__(BYTES) __align__(BYTES)
#define __device_builtin__
#define __cudart_builtin__
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#define __NV_SILENCE_HOST_DEPRECATION_BEGIN
#define __NV_SILENCE_HOST_DEPRECATION_END
#ifndef CUDARTAPI
#define CUDARTAPI
#endif

#endif /* __HOST_DEFINES_H__ */
