/*
 * The types and constants of the CUDA runtime, for cuda_runtime_api.h. Names and numbers are CUDA 12's.
 */
#ifndef __DRIVER_TYPES_H__
#define __DRIVER_TYPES_H__
#define XYLEM_HOST_DRIVER_TYPES

#include <limits.h>
#include <stddef.h>

#include "vector_types.h"
#include "xylem_cuda_errors.h"

/* The result of a call. */
#define XYLEM_CUDA_ENUMERATOR(NAME, NUMBER, TEXT) NAME = NUMBER,
typedef enum cudaError { XYLEM_CUDA_ERRORS(XYLEM_CUDA_ENUMERATOR) XYLEM_CUDA_ERROR_END = 10000 } cudaError_t;
#undef XYLEM_CUDA_ENUMERATOR

/* The direction of a copy. On the host device all memory is host memory, so all directions work. */
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

/* ---- Handles ------------------------------------------------------------------------------------------ */

/* A queue of work that runs in order. */
typedef struct CUstream_st* cudaStream_t;
/* The default stream of the current device, like a null handle: it waits for every stream of the device that
 * was not created with cudaStreamNonBlocking, and these wait for it. */
#define cudaStreamLegacy ((cudaStream_t)0x1)
/* The default stream of the calling thread on the current device, like those of cudaStreamCreate. */
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01

/* A point in a stream: the one at which the event was recorded last. */
typedef struct CUevent_st* cudaEvent_t;
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaEventRecordDefault 0x00
#define cudaEventRecordExternal 0x01
#define cudaEventWaitDefault 0x00
#define cudaEventWaitExternal 0x01

/* Work with its dependencies, and a graph that is ready to be launched again and again. */
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphNode_st* cudaGraphNode_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;

typedef void (*cudaHostFn_t)(void* userData);

/* ---- Flags -------------------------------------------------------------------------------------------- */

#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04

#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaHostRegisterIoMemory 0x04
#define cudaHostRegisterReadOnly 0x08

#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaMemAttachSingle 0x04

#define cudaPeerAccessDefault 0x00
#define cudaIpcMemLazyEnablePeerAccess 0x01

#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceBlockingSync 0x04
#define cudaDeviceScheduleMask 0x07
#define cudaDeviceMapHost 0x08
#define cudaDeviceLmemResizeToMax 0x10
#define cudaDeviceSyncMemops 0x80
#define cudaDeviceMask 0xff

#define cudaCpuDeviceId ((int)-1)
#define cudaInvalidDeviceId ((int)-2)

#define CUDA_IPC_HANDLE_SIZE 64

/* ---- Memory ------------------------------------------------------------------------------------------- */

enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0, /* allocated by the program elsewhere */
  cudaMemoryTypeHost = 1,         /* of cudaMallocHost, cudaHostAlloc or cudaHostRegister */
  cudaMemoryTypeDevice = 2,       /* of cudaMalloc or ncclMemAlloc, or of another process */
  cudaMemoryTypeManaged = 3       /* of cudaMallocManaged */
};

struct cudaPointerAttributes {
  enum cudaMemoryType type;
  int device;          /* current when the memory was allocated; cudaInvalidDeviceId: unregistered */
  void* devicePointer; /* the same pointer, but null if unregistered */
  void* hostPointer;   /* the same pointer; null for device memory, which programs may not rely on here */
};

enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly = 2,
  cudaMemAdviseSetPreferredLocation = 3,
  cudaMemAdviseUnsetPreferredLocation = 4,
  cudaMemAdviseSetAccessedBy = 5,
  cudaMemAdviseUnsetAccessedBy = 6
};

/* A place for memory: a device, or the host. */
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid = 0,
  cudaMemLocationTypeDevice = 1,
  cudaMemLocationTypeHost = 2,
  cudaMemLocationTypeHostNuma = 3,
  cudaMemLocationTypeHostNumaCurrent = 4
};
struct cudaMemLocation {
  enum cudaMemLocationType type;
  int id;
};

/* The name of memory, or of an event, for other processes of the same host and user. */
typedef struct cudaIpcMemHandle_st {
  char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle_st {
  char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcEventHandle_t;

/* ---- Capture and graphs ------------------------------------------------------------------------------- */

/* While a capture is open, it forbids calls that may disturb it (allocating, freeing): on all threads, on the
 * thread that captures, or not at all. */
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2
};

enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2 /* lost by an error; cudaStreamEndCapture ends it */
};

/* Nodes of collectives are called kernels, which they are on a GPU. */
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4,
  cudaGraphNodeTypeEmpty = 5,
  cudaGraphNodeTypeWaitEvent = 6,
  cudaGraphNodeTypeEventRecord = 7,
  cudaGraphNodeTypeMemAlloc = 10,
  cudaGraphNodeTypeMemFree = 11
};

/* How a node depends on another one: all zero, as the whole node waits for the whole other one. */
typedef struct cudaGraphEdgeData_st {
  unsigned char from_port, to_port, type, reserved[5];
} cudaGraphEdgeData;

/* The flags of cudaGraphInstantiate; they make no difference here. */
enum cudaGraphInstantiateFlags {
  cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
  cudaGraphInstantiateFlagUpload = 2,
  cudaGraphInstantiateFlagDeviceLaunch = 4,
  cudaGraphInstantiateFlagUseNodePriority = 8
};

/* The result of cudaGetDriverEntryPoint, and its flags. */
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2
};
#define cudaEnableDefault 0x0
#define cudaEnableLegacyStream 0x1
#define cudaEnablePerThreadDefaultStream 0x2

/* ---- Devices ------------------------------------------------------------------------------------------ */

#ifndef CU_UUID_HAS_BEEN_DEFINED
#define CU_UUID_HAS_BEEN_DEFINED
typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;
#endif
typedef CUuuid cudaUUID_t;

enum cudaComputeMode {
  cudaComputeModeDefault = 0,
  cudaComputeModeExclusive = 1,
  cudaComputeModeProhibited = 2,
  cudaComputeModeExclusiveProcess = 3
};

enum cudaLimit {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
  cudaLimitDevRuntimeSyncDepth = 3,
  cudaLimitDevRuntimePendingLaunchCount = 4,
  cudaLimitMaxL2FetchGranularity = 5,
  cudaLimitPersistingL2CacheSize = 6
};

enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported = 2,
  cudaDevP2PAttrNativeAtomicSupported = 3,
  cudaDevP2PAttrCudaArrayAccessSupported = 4
};

/* The attributes of a kernel, and what a program may set. */
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
  int preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight,
      requiredClusterDepth, clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

#include "xylem_device_properties.h"

#endif /* __DRIVER_TYPES_H__ */
