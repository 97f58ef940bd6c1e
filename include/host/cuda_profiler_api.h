/* cudaProfilerStart and cudaProfilerStop are in cuda_runtime_api.h; this is for programs that include it. */
#ifndef XYLEM_HOST_CUDA_PROFILER_API_H_
#define XYLEM_HOST_CUDA_PROFILER_API_H_
#include "cuda_runtime_api.h"
#endif /* XYLEM_HOST_CUDA_PROFILER_API_H_ */
