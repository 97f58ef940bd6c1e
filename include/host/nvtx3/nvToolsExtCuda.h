/* NVTX's names of the driver's devices, contexts, streams and events: nvToolsExt.h says why they do nothing. */
#ifndef NVTOOLSEXT_CUDA_V3
#define NVTOOLSEXT_CUDA_V3

#include <cuda.h>

#include "nvToolsExt.h"

#define NVTX_RESOURCE_CLASS_CUDA 4
typedef enum nvtxResourceCUDAType_t {
  NVTX_RESOURCE_TYPE_CUDA_DEVICE = NVTX_RESOURCE_MAKE_TYPE(CUDA, 1),
  NVTX_RESOURCE_TYPE_CUDA_CONTEXT = NVTX_RESOURCE_MAKE_TYPE(CUDA, 2),
  NVTX_RESOURCE_TYPE_CUDA_STREAM = NVTX_RESOURCE_MAKE_TYPE(CUDA, 3),
  NVTX_RESOURCE_TYPE_CUDA_EVENT = NVTX_RESOURCE_MAKE_TYPE(CUDA, 4)
} nvtxResourceCUDAType_t;

#ifdef XYLEM_NVTX
#define XYLEM_NVTX_NAMES(NAME, TYPE)                                               \
  XYLEM_NVTX(NAME##A, (TYPE object, const char* name), ((void)object, (void)name)) \
  XYLEM_NVTX(NAME##W, (TYPE object, const wchar_t* name), ((void)object, (void)name))
XYLEM_NVTX_NAMES(nvtxNameCuDevice, CUdevice)
XYLEM_NVTX_NAMES(nvtxNameCuContext, CUcontext)
XYLEM_NVTX_NAMES(nvtxNameCuStream, CUstream)
XYLEM_NVTX_NAMES(nvtxNameCuEvent, CUevent)
#undef XYLEM_NVTX_NAMES

#define nvtxNameCuDevice XYLEM_NVTX_BY_CHARACTER(nvtxNameCuDevice)
#define nvtxNameCuContext XYLEM_NVTX_BY_CHARACTER(nvtxNameCuContext)
#define nvtxNameCuStream XYLEM_NVTX_BY_CHARACTER(nvtxNameCuStream)
#define nvtxNameCuEvent XYLEM_NVTX_BY_CHARACTER(nvtxNameCuEvent)
#endif

#endif /* NVTOOLSEXT_CUDA_V3 */
