/*
 * Complex numbers as pairs of floats and of doubles.
 *
 *   cuComplex product = cuCmulf(make_cuComplex(1, 2), make_cuComplex(3, 4));
 */
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_

#include <math.h>

#include "vector_types.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

static __inline__ __host__ __device__ __attribute__((unused)) float cuCrealf(cuFloatComplex z) { return z.x; }
static __inline__ __host__ __device__ __attribute__((unused)) float cuCimagf(cuFloatComplex z) { return z.y; }
static __inline__ __host__ __device__ __attribute__((unused)) cuFloatComplex make_cuFloatComplex(
    float real, float imaginary) {
  cuFloatComplex z;
  z.x = real;
  z.y = imaginary;
  return z;
}
static __inline__ __host__ __device__ __attribute__((unused)) cuFloatComplex cuConjf(cuFloatComplex z) {
  return make_cuFloatComplex(z.x, -z.y);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuFloatComplex cuCaddf(cuFloatComplex a,
                                                                                     cuFloatComplex b) {
  return make_cuFloatComplex(a.x + b.x, a.y + b.y);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuFloatComplex cuCsubf(cuFloatComplex a,
                                                                                     cuFloatComplex b) {
  return make_cuFloatComplex(a.x - b.x, a.y - b.y);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuFloatComplex cuCmulf(cuFloatComplex a,
                                                                                     cuFloatComplex b) {
  return make_cuFloatComplex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
/* Scaled by the divisor's size, so that squares do not overflow. */
static __inline__ __host__ __device__ __attribute__((unused)) cuFloatComplex cuCdivf(cuFloatComplex a,
                                                                                     cuFloatComplex b) {
  const float size = fabsf(b.x) + fabsf(b.y);
  const float ar = a.x / size, ai = a.y / size, br = b.x / size, bi = b.y / size;
  const float square = br * br + bi * bi;
  return make_cuFloatComplex((ar * br + ai * bi) / square, (ai * br - ar * bi) / square);
}
static __inline__ __host__ __device__ __attribute__((unused)) float cuCabsf(cuFloatComplex z) {
  return hypotf(z.x, z.y);
}

static __inline__ __host__ __device__ __attribute__((unused)) double cuCreal(cuDoubleComplex z) {
  return z.x;
}
static __inline__ __host__ __device__ __attribute__((unused)) double cuCimag(cuDoubleComplex z) {
  return z.y;
}
static __inline__ __host__ __device__ __attribute__((unused)) cuDoubleComplex make_cuDoubleComplex(
    double real, double imaginary) {
  cuDoubleComplex z;
  z.x = real;
  z.y = imaginary;
  return z;
}
static __inline__ __host__ __device__ __attribute__((unused)) cuDoubleComplex cuConj(cuDoubleComplex z) {
  return make_cuDoubleComplex(z.x, -z.y);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuDoubleComplex cuCadd(cuDoubleComplex a,
                                                                                     cuDoubleComplex b) {
  return make_cuDoubleComplex(a.x + b.x, a.y + b.y);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuDoubleComplex cuCsub(cuDoubleComplex a,
                                                                                     cuDoubleComplex b) {
  return make_cuDoubleComplex(a.x - b.x, a.y - b.y);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuDoubleComplex cuCmul(cuDoubleComplex a,
                                                                                     cuDoubleComplex b) {
  return make_cuDoubleComplex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
/* Scaled by the divisor's size, so that squares do not overflow. */
static __inline__ __host__ __device__ __attribute__((unused)) cuDoubleComplex cuCdiv(cuDoubleComplex a,
                                                                                     cuDoubleComplex b) {
  const double size = fabs(b.x) + fabs(b.y);
  const double ar = a.x / size, ai = a.y / size, br = b.x / size, bi = b.y / size;
  const double square = br * br + bi * bi;
  return make_cuDoubleComplex((ar * br + ai * bi) / square, (ai * br - ar * bi) / square);
}
static __inline__ __host__ __device__ __attribute__((unused)) double cuCabs(cuDoubleComplex z) {
  return hypot(z.x, z.y);
}

static __inline__ __host__ __device__ __attribute__((unused)) cuComplex make_cuComplex(float real,
                                                                                       float imaginary) {
  return make_cuFloatComplex(real, imaginary);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuDoubleComplex cuComplexFloatToDouble(
    cuFloatComplex z) {
  return make_cuDoubleComplex((double)z.x, (double)z.y);
}
static __inline__ __host__ __device__ __attribute__((unused)) cuFloatComplex cuComplexDoubleToFloat(
    cuDoubleComplex z) {
  return make_cuFloatComplex((float)z.x, (float)z.y);
}

#endif /* CU_COMPLEX_H_ */
