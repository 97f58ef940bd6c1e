/*
 * Functions that make CUDA's small vectors.
 *
 *   float4 four = make_float4(1, 2, 3, 4);
 */
#ifndef __VECTOR_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

/* NVIDIA's types of four numbers of eight bytes, if they are here, are marked as old. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

#define XYLEM_MAKE_VECTORS(NAME, TYPE)                                                                   \
  static __inline__ __host__ __device__ __attribute__((unused)) NAME##1 make_##NAME##1(TYPE x) {         \
    NAME##1 made;                                                                                        \
    made.x = x;                                                                                          \
    return made;                                                                                         \
  }                                                                                                      \
  static __inline__ __host__ __device__ __attribute__((unused)) NAME##2 make_##NAME##2(TYPE x, TYPE y) { \
    NAME##2 made;                                                                                        \
    made.x = x;                                                                                          \
    made.y = y;                                                                                          \
    return made;                                                                                         \
  }                                                                                                      \
  static __inline__ __host__ __device__ __attribute__((unused))                                          \
  NAME##3 make_##NAME##3(TYPE x, TYPE y, TYPE z) {                                                       \
    NAME##3 made;                                                                                        \
    made.x = x;                                                                                          \
    made.y = y;                                                                                          \
    made.z = z;                                                                                          \
    return made;                                                                                         \
  }                                                                                                      \
  static __inline__ __host__ __device__ __attribute__((unused))                                          \
  NAME##4 make_##NAME##4(TYPE x, TYPE y, TYPE z, TYPE w) {                                               \
    NAME##4 made;                                                                                        \
    made.x = x;                                                                                          \
    made.y = y;                                                                                          \
    made.z = z;                                                                                          \
    made.w = w;                                                                                          \
    return made;                                                                                         \
  }
XYLEM_MAKE_VECTORS(char, signed char)
XYLEM_MAKE_VECTORS(uchar, unsigned char)
XYLEM_MAKE_VECTORS(short, short)
XYLEM_MAKE_VECTORS(ushort, unsigned short)
XYLEM_MAKE_VECTORS(int, int)
XYLEM_MAKE_VECTORS(uint, unsigned int)
XYLEM_MAKE_VECTORS(long, long)
XYLEM_MAKE_VECTORS(ulong, unsigned long)
XYLEM_MAKE_VECTORS(longlong, long long)
XYLEM_MAKE_VECTORS(ulonglong, unsigned long long)
XYLEM_MAKE_VECTORS(float, float)
XYLEM_MAKE_VECTORS(double, double)
#undef XYLEM_MAKE_VECTORS

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif /* __VECTOR_FUNCTIONS_H__ */
