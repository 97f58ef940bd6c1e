/*
 * For programs that include cuda.h to read its version. CUDA's driver interface itself is missing: NCCL
 * programs use the runtime's (cuda_runtime.h).
 */
#ifndef XYLEM_HOST_CUDA_H_
#define XYLEM_HOST_CUDA_H_

#include "cuda_runtime_api.h"

#define CUDA_VERSION CUDART_VERSION

#endif /* XYLEM_HOST_CUDA_H_ */
