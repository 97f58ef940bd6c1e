/* The directions in which conversions of numbers round (cuda_fp4.h). */
#ifndef __DEVICE_TYPES_H__
#define __DEVICE_TYPES_H__
#include "driver_types.h"

enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };
#endif /* __DEVICE_TYPES_H__ */
