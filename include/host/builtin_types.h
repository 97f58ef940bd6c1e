/* All types of the CUDA runtime. */
#ifndef __BUILTIN_TYPES_H__
#define __BUILTIN_TYPES_H__
#include "driver_types.h"
#endif /* __BUILTIN_TYPES_H__ */
