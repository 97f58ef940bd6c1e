/* NVTX's names of the runtime's devices, streams and events: nvToolsExt.h says why they do nothing. */
#ifndef NVTOOLSEXT_CUDART_V3
#define NVTOOLSEXT_CUDART_V3

#include <cuda_runtime_api.h>

#include "nvToolsExt.h"

#define NVTX_RESOURCE_CLASS_CUDART 5
typedef enum nvtxResourceCUDARTType_t {
  NVTX_RESOURCE_TYPE_CUDART_DEVICE = NVTX_RESOURCE_MAKE_TYPE(CUDART, 0),
  NVTX_RESOURCE_TYPE_CUDART_STREAM = NVTX_RESOURCE_MAKE_TYPE(CUDART, 1),
  NVTX_RESOURCE_TYPE_CUDART_EVENT = NVTX_RESOURCE_MAKE_TYPE(CUDART, 2)
} nvtxResourceCUDARTType_t;

#ifdef XYLEM_NVTX
#define XYLEM_NVTX_NAMES(NAME, TYPE)                                               \
  XYLEM_NVTX(NAME##A, (TYPE object, const char* name), ((void)object, (void)name)) \
  XYLEM_NVTX(NAME##W, (TYPE object, const wchar_t* name), ((void)object, (void)name))
XYLEM_NVTX_NAMES(nvtxNameCudaDevice, int)
XYLEM_NVTX_NAMES(nvtxNameCudaStream, cudaStream_t)
XYLEM_NVTX_NAMES(nvtxNameCudaEvent, cudaEvent_t)
#undef XYLEM_NVTX_NAMES

#define nvtxNameCudaDevice XYLEM_NVTX_BY_CHARACTER(nvtxNameCudaDevice)
#define nvtxNameCudaStream XYLEM_NVTX_BY_CHARACTER(nvtxNameCudaStream)
#define nvtxNameCudaEvent XYLEM_NVTX_BY_CHARACTER(nvtxNameCudaEvent)
#endif

#endif /* NVTOOLSEXT_CUDART_V3 */
