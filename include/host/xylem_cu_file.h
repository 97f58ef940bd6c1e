/*
 * The CUDA runtime, C's usual headers, and min and max of numbers, which a .cu file has without an include: xylem-cc
 * includes this file first.
 */
#ifndef XYLEM_HOST_CU_FILE_H_
#define XYLEM_HOST_CU_FILE_H_

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_runtime.h"

#ifdef __cplusplus

/* The type of the sum of both numbers. */
template <typename A, typename B>
using XylemSum = decltype(A{} + B{});

#define XYLEM_MIN_MAX(A, B)                                                               \
  __host__ __device__ inline constexpr XylemSum<A, B> min(A a, B b) {                     \
    return XylemSum<A, B>(a) < XylemSum<A, B>(b) ? XylemSum<A, B>(a) : XylemSum<A, B>(b); \
  }                                                                                       \
  __host__ __device__ inline constexpr XylemSum<A, B> max(A a, B b) {                     \
    return XylemSum<A, B>(a) < XylemSum<A, B>(b) ? XylemSum<A, B>(b) : XylemSum<A, B>(a); \
  }
#define XYLEM_MIN_MAX_BOTH(A, B) XYLEM_MIN_MAX(A, B) XYLEM_MIN_MAX(B, A)
XYLEM_MIN_MAX(int, int)
XYLEM_MIN_MAX_BOTH(int, unsigned int)
XYLEM_MIN_MAX_BOTH(int, long)
XYLEM_MIN_MAX_BOTH(int, unsigned long)
XYLEM_MIN_MAX_BOTH(int, long long)
XYLEM_MIN_MAX_BOTH(int, unsigned long long)
XYLEM_MIN_MAX(unsigned int, unsigned int)
XYLEM_MIN_MAX_BOTH(unsigned int, long)
XYLEM_MIN_MAX_BOTH(unsigned int, unsigned long)
XYLEM_MIN_MAX_BOTH(unsigned int, long long)
XYLEM_MIN_MAX_BOTH(unsigned int, unsigned long long)
XYLEM_MIN_MAX(long, long)
XYLEM_MIN_MAX_BOTH(long, unsigned long)
XYLEM_MIN_MAX_BOTH(long, long long)
XYLEM_MIN_MAX_BOTH(long, unsigned long long)
XYLEM_MIN_MAX(unsigned long, unsigned long)
XYLEM_MIN_MAX_BOTH(unsigned long, long long)
XYLEM_MIN_MAX_BOTH(unsigned long, unsigned long long)
XYLEM_MIN_MAX(long long, long long)
XYLEM_MIN_MAX_BOTH(long long, unsigned long long)
XYLEM_MIN_MAX(unsigned long long, unsigned long long)
XYLEM_MIN_MAX(float, float)
XYLEM_MIN_MAX(double, double)
XYLEM_MIN_MAX_BOTH(float, double)
#undef XYLEM_MIN_MAX_BOTH
#undef XYLEM_MIN_MAX

#endif /* __cplusplus */

#endif /* XYLEM_HOST_CU_FILE_H_ */
