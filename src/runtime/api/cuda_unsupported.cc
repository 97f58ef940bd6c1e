// Functions of CUDA's runtime and driver that host devices do not have, for programs that were built elsewhere: the loader
// finds them, and a call says what is missing (ncclGetLastError). The headers do not declare them, and arguments
// make no difference. Kernels are not among them: a program that launches one does not link (host/xylem_no_kernels.h).

#include "host/cuda.h"
#include "runtime/api/boundary.h"
#include "runtime/api/cuda_boundary.h"

namespace {

int refuse(const char* function, const char* what) noexcept {
  try {
    xylem::api::remember(xylem::ResultCode::kInvalidUsage,
                         std::string(function) + ": host devices have no " + what);
  } catch (const std::exception&) {
    // There is no memory for the text.
  }
  return cudaErrorNotSupported;
}

}  // namespace

#define XYLEM_ABSENT(NAME, WHAT)                                                              \
  extern "C" __attribute__((visibility("default"))) int xylem_absent_##NAME() __asm__(#NAME); \
  int xylem_absent_##NAME() { return xylem::api::rememberCuda(cudaError_t(refuse(#NAME, WHAT))); }
// The driver keeps no last error.
#define XYLEM_ABSENT_DRIVER(NAME, WHAT)                                                       \
  extern "C" __attribute__((visibility("default"))) int xylem_absent_##NAME() __asm__(#NAME); \
  int xylem_absent_##NAME() { return refuse(#NAME, WHAT); }

#define XYLEM_ARRAYS(NAME) \
  XYLEM_ABSENT(NAME, "arrays, textures and surfaces; memory of cudaMalloc has rows and slices")
XYLEM_ARRAYS(cudaArrayGetInfo)
XYLEM_ARRAYS(cudaArrayGetMemoryRequirements)
XYLEM_ARRAYS(cudaArrayGetPlane)
XYLEM_ARRAYS(cudaArrayGetSparseProperties)
XYLEM_ARRAYS(cudaCreateSurfaceObject)
XYLEM_ARRAYS(cudaCreateTextureObject)
XYLEM_ARRAYS(cudaDestroySurfaceObject)
XYLEM_ARRAYS(cudaDestroyTextureObject)
XYLEM_ARRAYS(cudaDeviceGetTexture1DLinearMaxWidth)
XYLEM_ARRAYS(cudaFreeArray)
XYLEM_ARRAYS(cudaFreeMipmappedArray)
XYLEM_ARRAYS(cudaGetChannelDesc)
XYLEM_ARRAYS(cudaGetMipmappedArrayLevel)
XYLEM_ARRAYS(cudaGetSurfaceObjectResourceDesc)
XYLEM_ARRAYS(cudaGetTextureObjectResourceDesc)
XYLEM_ARRAYS(cudaGetTextureObjectResourceViewDesc)
XYLEM_ARRAYS(cudaGetTextureObjectTextureDesc)
XYLEM_ARRAYS(cudaMalloc3DArray)
XYLEM_ARRAYS(cudaMallocArray)
XYLEM_ARRAYS(cudaMallocMipmappedArray)
XYLEM_ARRAYS(cudaMemcpy2DArrayToArray)
XYLEM_ARRAYS(cudaMemcpy2DFromArray)
XYLEM_ARRAYS(cudaMemcpy2DFromArrayAsync)
XYLEM_ARRAYS(cudaMemcpy2DToArray)
XYLEM_ARRAYS(cudaMemcpy2DToArrayAsync)
XYLEM_ARRAYS(cudaMemcpyArrayToArray)
XYLEM_ARRAYS(cudaMemcpyFromArray)
XYLEM_ARRAYS(cudaMemcpyFromArrayAsync)
XYLEM_ARRAYS(cudaMemcpyToArray)
XYLEM_ARRAYS(cudaMemcpyToArrayAsync)
XYLEM_ARRAYS(cudaMipmappedArrayGetMemoryRequirements)
XYLEM_ARRAYS(cudaMipmappedArrayGetSparseProperties)

#define XYLEM_EXTERNAL(NAME) XYLEM_ABSENT(NAME, "memory and semaphores of graphics libraries")
XYLEM_EXTERNAL(cudaDestroyExternalMemory)
XYLEM_EXTERNAL(cudaDestroyExternalSemaphore)
XYLEM_EXTERNAL(cudaExternalMemoryGetMappedBuffer)
XYLEM_EXTERNAL(cudaExternalMemoryGetMappedMipmappedArray)
XYLEM_EXTERNAL(cudaGraphicsMapResources)
XYLEM_EXTERNAL(cudaGraphicsResourceGetMappedMipmappedArray)
XYLEM_EXTERNAL(cudaGraphicsResourceGetMappedPointer)
XYLEM_EXTERNAL(cudaGraphicsResourceSetMapFlags)
XYLEM_EXTERNAL(cudaGraphicsSubResourceGetMappedArray)
XYLEM_EXTERNAL(cudaGraphicsUnmapResources)
XYLEM_EXTERNAL(cudaGraphicsUnregisterResource)
XYLEM_EXTERNAL(cudaImportExternalMemory)
XYLEM_EXTERNAL(cudaImportExternalSemaphore)
XYLEM_EXTERNAL(cudaSignalExternalSemaphoresAsync_v2)
XYLEM_EXTERNAL(cudaWaitExternalSemaphoresAsync_v2)

#define XYLEM_NODES(NAME) \
  XYLEM_ABSENT(NAME,      \
               "graphs whose nodes are changed, or removed, one by one; cudaGraphExecUpdate changes all")
XYLEM_NODES(cudaGraphAddMemAllocNode)
XYLEM_NODES(cudaGraphAddMemFreeNode)
XYLEM_NODES(cudaGraphAddNode)
XYLEM_NODES(cudaGraphAddNode_v2)
XYLEM_NODES(cudaGraphConditionalHandleCreate)
XYLEM_NODES(cudaGraphDestroyNode)
XYLEM_NODES(cudaGraphExecChildGraphNodeSetParams)
XYLEM_NODES(cudaGraphExecEventRecordNodeSetEvent)
XYLEM_NODES(cudaGraphExecEventWaitNodeSetEvent)
XYLEM_NODES(cudaGraphExecHostNodeSetParams)
XYLEM_NODES(cudaGraphExecMemcpyNodeSetParams)
XYLEM_NODES(cudaGraphExecMemcpyNodeSetParams1D)
XYLEM_NODES(cudaGraphExecMemsetNodeSetParams)
XYLEM_NODES(cudaGraphExecNodeSetParams)
XYLEM_NODES(cudaGraphHostNodeGetParams)
XYLEM_NODES(cudaGraphHostNodeSetParams)
XYLEM_NODES(cudaGraphInstantiateWithParams)
XYLEM_NODES(cudaGraphMemcpyNodeGetParams)
XYLEM_NODES(cudaGraphMemcpyNodeSetParams)
XYLEM_NODES(cudaGraphMemcpyNodeSetParams1D)
XYLEM_NODES(cudaGraphMemsetNodeGetParams)
XYLEM_NODES(cudaGraphMemsetNodeSetParams)
XYLEM_NODES(cudaGraphNodeGetDependencies)
XYLEM_NODES(cudaGraphNodeGetDependentNodes)
XYLEM_NODES(cudaGraphNodeGetEnabled)
XYLEM_NODES(cudaGraphNodeSetEnabled)
XYLEM_NODES(cudaGraphNodeSetParams)
XYLEM_NODES(cudaGraphRemoveDependencies)

#define XYLEM_CODE(NAME) XYLEM_ABSENT(NAME, "code of the device, which libraries of kernels hold")
XYLEM_CODE(cudaLibraryEnumerateKernels)
XYLEM_CODE(cudaLibraryGetGlobal)
XYLEM_CODE(cudaLibraryGetKernel)
XYLEM_CODE(cudaLibraryGetKernelCount)
XYLEM_CODE(cudaLibraryGetManaged)
XYLEM_CODE(cudaLibraryGetUnifiedFunction)
XYLEM_CODE(cudaLibraryLoadData)
XYLEM_CODE(cudaLibraryLoadFromFile)
XYLEM_CODE(cudaLibraryUnload)

#define XYLEM_PLACES(NAME) \
  XYLEM_ABSENT(NAME, "memory that moves between host and device, and so no record of its place")
XYLEM_PLACES(cudaMemDiscardAndPrefetchBatchAsync)
XYLEM_PLACES(cudaMemDiscardBatchAsync)
XYLEM_PLACES(cudaMemPrefetchBatchAsync)
XYLEM_PLACES(cudaMemRangeGetAttribute)
XYLEM_PLACES(cudaMemRangeGetAttributes)
XYLEM_PLACES(cudaStreamAttachMemAsync)

#define XYLEM_ATTRIBUTES(NAME) XYLEM_ABSENT(NAME, "attributes of this kind")
XYLEM_ATTRIBUTES(cudaDeviceGetGraphMemAttribute)
XYLEM_ATTRIBUTES(cudaDeviceSetGraphMemAttribute)
XYLEM_ATTRIBUTES(cudaStreamCopyAttributes)
XYLEM_ATTRIBUTES(cudaStreamGetAttribute)
XYLEM_ATTRIBUTES(cudaStreamSetAttribute)

XYLEM_ABSENT(cudaMemcpy3DBatchAsync, "batches of boxes; cudaMemcpy3DAsync copies one")

#define XYLEM_MULTICAST(NAME) XYLEM_ABSENT_DRIVER(NAME, "multicast objects, which a switch of GPUs makes")
XYLEM_MULTICAST(cuMulticastAddDevice)
XYLEM_MULTICAST(cuMulticastBindAddr)
XYLEM_MULTICAST(cuMulticastBindMem)
XYLEM_MULTICAST(cuMulticastCreate)
XYLEM_MULTICAST(cuMulticastGetGranularity)
XYLEM_MULTICAST(cuMulticastUnbind)

#define XYLEM_DRIVER_CODE(NAME) XYLEM_ABSENT_DRIVER(NAME, "code of the device")
XYLEM_DRIVER_CODE(cuFuncGetAttribute)
XYLEM_DRIVER_CODE(cuFuncSetAttribute)
XYLEM_DRIVER_CODE(cuLaunchKernelEx)
XYLEM_DRIVER_CODE(cuLinkAddData_v2)
XYLEM_DRIVER_CODE(cuLinkAddFile_v2)
XYLEM_DRIVER_CODE(cuLinkComplete)
XYLEM_DRIVER_CODE(cuLinkCreate_v2)
XYLEM_DRIVER_CODE(cuLinkDestroy)
XYLEM_DRIVER_CODE(cuModuleGetGlobal_v2)
XYLEM_DRIVER_CODE(cuModuleLoadDataEx)
XYLEM_DRIVER_CODE(cuModuleLoadFatBinary)
XYLEM_DRIVER_CODE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
XYLEM_DRIVER_CODE(cuTensorMapEncodeTiled)
