/* NVIDIA's header has the rounding modes of kernels: here it brings the qualifiers. */
#ifndef __DEVICE_TYPES_H__
#define __DEVICE_TYPES_H__
#include "driver_types.h"
#endif /* __DEVICE_TYPES_H__ */
