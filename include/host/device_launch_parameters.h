/* NVIDIA's header declares threadIdx and the like, which only kernels have: here it brings the types. */
#ifndef __DEVICE_LAUNCH_PARAMETERS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
#include "driver_types.h"
#endif /* __DEVICE_LAUNCH_PARAMETERS_H__ */
