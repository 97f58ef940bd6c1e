/* NVIDIA's header makes extents and positions of 3-D copies: here it brings the types. */
#ifndef __DRIVER_FUNCTIONS_H__
#define __DRIVER_FUNCTIONS_H__
#include "driver_types.h"
#endif /* __DRIVER_FUNCTIONS_H__ */
