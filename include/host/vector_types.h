/*
 * CUDA's small vectors, and the qualifiers of functions that say where they run. On host devices, all
 * functions run on the host.
 */
#ifndef XYLEM_HOST_VECTOR_TYPES_H_
#define XYLEM_HOST_VECTOR_TYPES_H_

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

#define XYLEM_VECTORS(NAME, TYPE)                                                     \
  struct NAME##1 {                                                                    \
    TYPE x;                                                                           \
  };                                                                                  \
  struct __attribute__((aligned(2 * sizeof(TYPE)))) NAME##2 {                         \
    TYPE x, y;                                                                        \
  };                                                                                  \
  struct NAME##3 {                                                                    \
    TYPE x, y, z;                                                                     \
  };                                                                                  \
  struct __attribute__((aligned(sizeof(TYPE) < 8 ? 4 * sizeof(TYPE) : 16))) NAME##4 { \
    TYPE x, y, z, w;                                                                  \
  };                                                                                  \
  typedef struct NAME##1 NAME##1;                                                     \
  typedef struct NAME##2 NAME##2;                                                     \
  typedef struct NAME##3 NAME##3;                                                     \
  typedef struct NAME##4 NAME##4

XYLEM_VECTORS(char, signed char);
XYLEM_VECTORS(uchar, unsigned char);
XYLEM_VECTORS(short, short);
XYLEM_VECTORS(ushort, unsigned short);
XYLEM_VECTORS(int, int);
XYLEM_VECTORS(uint, unsigned int);
XYLEM_VECTORS(long, long);
XYLEM_VECTORS(ulong, unsigned long);
XYLEM_VECTORS(longlong, long long);
XYLEM_VECTORS(ulonglong, unsigned long long);
XYLEM_VECTORS(float, float);
XYLEM_VECTORS(double, double);
#undef XYLEM_VECTORS

/* The shape of a launch. Programs compute it even if they launch nothing. */
struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned int xs = 1, unsigned int ys = 1, unsigned int zs = 1) : x(xs), y(ys), z(zs) {}
#endif
};
typedef struct dim3 dim3;

#endif /* XYLEM_HOST_VECTOR_TYPES_H_ */
