/*
 * CUDA's small vectors, and the qualifiers of functions that say where they run. On host devices, all
 * functions run on the host.
 *
 *   float4 four = {1, 2, 3, 4};
 *
 * As all headers here, it has the guard of NVIDIA's header of that name: of the two, the one that a program
 * includes first stands for both.
 */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__
#define XYLEM_HOST_VECTOR_TYPES

#include "host_defines.h"

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

/* CUDA 13's names for four numbers of eight bytes, by their alignment. */
#define XYLEM_ALIGNED_VECTOR(NAME, TYPE, BYTES)              \
  struct __attribute__((aligned(BYTES))) NAME##_##BYTES##a { \
    TYPE x, y, z, w;                                         \
  };                                                         \
  typedef struct NAME##_##BYTES##a NAME##_##BYTES##a
#define XYLEM_ALIGNED_VECTORS(NAME, TYPE) \
  XYLEM_ALIGNED_VECTOR(NAME, TYPE, 16);   \
  XYLEM_ALIGNED_VECTOR(NAME, TYPE, 32)
XYLEM_ALIGNED_VECTORS(long4, long);
XYLEM_ALIGNED_VECTORS(ulong4, unsigned long);
XYLEM_ALIGNED_VECTORS(longlong4, long long);
XYLEM_ALIGNED_VECTORS(ulonglong4, unsigned long long);
XYLEM_ALIGNED_VECTORS(double4, double);
#undef XYLEM_ALIGNED_VECTORS
#undef XYLEM_ALIGNED_VECTOR

/* The shape of a launch. Programs compute it even if they launch nothing. */
struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned int xs = 1, unsigned int ys = 1, unsigned int zs = 1) : x(xs), y(ys), z(zs) {}
#endif
};
typedef struct dim3 dim3;

#endif /* __VECTOR_TYPES_H__ */
