/* NVIDIA's header declares what kernels call; build systems look for it. Here it brings the types. */
#ifndef __DEVICE_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#include "driver_types.h"
#endif /* __DEVICE_FUNCTIONS_H__ */
