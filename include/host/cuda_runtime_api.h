/*
 * The CUDA runtime's functions on Xylem's host devices, for C and C++. cuda_runtime.h, which includes this
 * file, says what it is and how to use it.
 *
 * Sizes are in bytes. Every function may be called from any thread; each thread has its own current device,
 * which is 0 at first. A null pointer to a result is cudaErrorInvalidValue; a destroyed handle, or a pointer
 * to other memory in place of one, is cudaErrorInvalidResourceHandle. Any call that enqueues work on a captured
 * stream adds it to the graph instead. These are not repeated below.
 */
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__
#define XYLEM_HOST_CUDA_RUNTIME_API

/* The version of CUDA whose names and numbers these are, for a program's #if. */
#define CUDART_VERSION 12080
#define CUDART_CB

#include "driver_types.h"

/* C++ programs may leave out some last arguments, as with CUDA. */
#ifdef __cplusplus
#define XYLEM_DEFAULT(VALUE) = VALUE
#else
#define XYLEM_DEFAULT(VALUE)
#endif

/* With CUDA_API_PER_THREAD_DEFAULT_STREAM, null is the calling thread's default stream: another set of
 * functions, under the same names. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define XYLEM_PTDS(NAME) __asm__(#NAME "_ptds")
#define XYLEM_PTSZ(NAME) __asm__(#NAME "_ptsz")
#else
#define XYLEM_PTDS(NAME)
#define XYLEM_PTSZ(NAME)
#endif

/* A structure or the arguments of the function are those of CUDA 12, if these headers' types are used. */
#ifdef XYLEM_HOST_DRIVER_TYPES
#define XYLEM_OF_CUDA_12(NAME) __asm__(#NAME)
#else
#define XYLEM_OF_CUDA_12(NAME)
#endif

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- Errors ------------------------------------------------------------------------------------------- */

/* A sentence that describes `error`, and its name. Never null. */
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

/* The calling thread's last error; the first also forgets it. cudaErrorNotReady does not count. */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

/* ---- Devices ------------------------------------------------------------------------------------------ */

/* The number of host devices: XYLEM_HOST_DEVICES if that is set, else one per core, or per process of the job
 * on this machine if a launcher (mpirun, srun, torchrun) says that there are more. */
cudaError_t cudaGetDeviceCount(int* count);

/* Makes `device` (0 to count-1) the calling thread's device. */
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);

/* The function under this name in the library writes CUDA 13's structure. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device)
    XYLEM_OF_CUDA_12(cudaGetDeviceProperties_v2);
cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device);
/* The device as text, `ffff:00:01.0`, with the final null; `length` is what fits into `busId`. And back. */
cudaError_t cudaDeviceGetPCIBusId(char* busId, int length, int device);
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* busId);
/* The machine's memory, in bytes. */
cudaError_t cudaMemGetInfo(size_t* available, size_t* total);

/* Waits for the work of every stream of the calling thread's device; the second also forgets the last error.
 * Streams, events and memory stay. */
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
/* The older names of both. */
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadExit(void);

/* Flags are stored per device and returned; they make no difference. */
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int* flags);
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
/* These store and return nothing but the default: CPUs divide their caches themselves. */
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* config);
/* Writes of networks are visible at once, and graphs hold no memory back: both do nothing. */
cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                               enum cudaFlushGPUDirectRDMAWritesScope scope);
cudaError_t cudaDeviceGraphMemTrim(int device);
/* Devices have no such limits: both return cudaErrorUnsupportedLimit. */
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit);

/* Every device reaches every other one. Enabling access twice is cudaErrorPeerAccessAlreadyEnabled. */
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attribute, int device, int peer);

/* The runtime's is CUDART_VERSION, or that of the library's name in a folder that stands for CUDA's. The driver's
 * is 13000. */
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

/* ---- Memory ------------------------------------------------------------------------------------------- */

/* Memory of the current device: `size` bytes aligned to 256 (null for size 0). cudaFree takes what
 * cudaMalloc, cudaMallocManaged and cudaMallocAsync gave, or null, after waiting for the work of every stream
 * of the memory's device. cudaErrorInvalidValue: any other pointer, or one that was freed. */
cudaError_t cudaMalloc(void** pointer, size_t size);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocManaged(void** pointer, size_t size,
                              unsigned int flags XYLEM_DEFAULT(cudaMemAttachGlobal));
/* Rows of `width` bytes, `*pitch` apart. */
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);

/* Slices of rows. */
cudaError_t cudaMalloc3D(struct cudaPitchedPtr* pointer, struct cudaExtent extent);

/* The same in the order of a stream: the memory is allocated at once, and freed when the stream gets to the
 * free. */
cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) XYLEM_PTSZ(cudaMallocAsync);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) XYLEM_PTSZ(cudaFreeAsync);

/* Memory pools count what is allocated from them. A device has its default one, and one from which cudaMallocAsync takes,
 * which is that one at first. Memory of a pool that is destroyed stays until it is freed. */
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const struct cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytesToKeep);
/* Only the reuse flags and the threshold, which make no difference, can be set, and each of both highest values to 0. */
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value);
/* Every device reads and writes all memory, whatever is asked for. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc* list, size_t count);
cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 struct cudaMemLocation* location);
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
    XYLEM_PTSZ(cudaMallocFromPoolAsync);
/* A pool made for file descriptors goes to another process of the same user and host: export it, pass the descriptor (an
 * int at `handle`, over a socket), and import it there ((void*)(intptr_t)descriptor). Then memory goes by names, of any
 * bytes that carry them. An imported pool gives no memory of its own. Either process frees what it has; the pages stay
 * those of the process that allocated them, whose cudaFree ends their use everywhere. */
cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool,
                                               enum cudaMemAllocationHandleType type, unsigned int flags);
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle,
                                                 enum cudaMemAllocationHandleType type, unsigned int flags);
cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData* name, void* pointer);
cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool,
                                     struct cudaMemPoolPtrExportData* name);

/* The same for memory of the host, which does not differ here. Flags make no difference. */
cudaError_t cudaMallocHost(void** pointer, size_t size);
cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags);
cudaError_t cudaFreeHost(void* pointer);

/* Registers memory of the program. cudaErrorHostMemoryAlreadyRegistered: some of it is registered;
 * cudaErrorHostMemoryNotRegistered: no registration starts there. */
cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void* pointer);
/* Stores the pointer itself, for registered or allocated host memory. */
cudaError_t cudaHostGetDevicePointer(void** devicePointer, void* hostPointer, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int* flags, void* hostPointer);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* pointer);

/* Accepted for memory of cudaMallocManaged, without effect. */
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, int device,
                                 cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemPrefetchAsync);
cudaError_t cudaMemAdvise(const void* pointer, size_t count, enum cudaMemoryAdvise advice, int device);
/* The same with a location in place of a device; `flags` must be 0. */
cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t count, struct cudaMemLocation location,
                                    unsigned int flags, cudaStream_t stream XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaMemPrefetchAsync_v2);
cudaError_t cudaMemAdvise_v2(const void* pointer, size_t count, enum cudaMemoryAdvise advice,
                             struct cudaMemLocation location);

/* Copies or sets `count` bytes in the default stream of the current device; returns when finished. */
cudaError_t cudaMemcpy(void* destination, const void* source, size_t count, enum cudaMemcpyKind kind)
    XYLEM_PTDS(cudaMemcpy);
cudaError_t cudaMemcpyPeer(void* destination, int destinationDevice, const void* source, int sourceDevice,
                           size_t count);
cudaError_t cudaMemcpy2D(void* destination, size_t destinationPitch, const void* source, size_t sourcePitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind) XYLEM_PTDS(cudaMemcpy2D);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms* parameters) XYLEM_PTDS(cudaMemcpy3D);
cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms* parameters) XYLEM_PTDS(cudaMemcpy3DPeer);
cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent)
    XYLEM_PTDS(cudaMemset3D);
cudaError_t cudaMemset(void* pointer, int value, size_t count) XYLEM_PTDS(cudaMemset);
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height)
    XYLEM_PTDS(cudaMemset2D);

/* The same in the order of `stream`; returns at once. The memory must stay until the stream has done the
 * call. Only the source of a copy from host to device that is not from cudaMallocHost, cudaHostAlloc or
 * cudaHostRegister may go at once, unless the copy is captured. */
cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemcpyAsync);
cudaError_t cudaMemcpyPeerAsync(void* destination, int destinationDevice, const void* source,
                                int sourceDevice, size_t count, cudaStream_t stream XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaMemcpyPeerAsync);
cudaError_t cudaMemcpy2DAsync(void* destination, size_t destinationPitch, const void* source,
                              size_t sourcePitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemcpy2DAsync);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* parameters,
                              cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemcpy3DAsync);
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms* parameters,
                                  cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemcpy3DPeerAsync);
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
                              cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemset3DAsync);
/* `count` copies. `attributes[i]` is for those from number `firsts[i]` on, which begin with 0 and ascend. `*failed` is the
 * number of the copy that has an error, or SIZE_MAX. The stream must not be the default one. */
cudaError_t cudaMemcpyBatchAsync(void** destinations, void** sources, size_t* sizes, size_t count,
                                 struct cudaMemcpyAttributes* attributes, size_t* firsts,
                                 size_t attributeCount, size_t* failed, cudaStream_t stream)
    XYLEM_PTSZ(cudaMemcpyBatchAsync);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaMemsetAsync);
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemset2DAsync);

/* ---- Streams ------------------------------------------------------------------------------------------ */

/* Creates a stream on the calling thread's device. Without cudaStreamNonBlocking it and the device's default
 * stream wait for each other. Priorities are stored and returned, but make no difference. */
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) XYLEM_PTSZ(cudaStreamGetFlags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) XYLEM_PTSZ(cudaStreamGetPriority);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) XYLEM_PTSZ(cudaStreamGetDevice);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) XYLEM_PTSZ(cudaStreamGetId);

/* Waits until all work enqueued on `stream` before the call is done. The waiting thread runs it itself, and
 * the work of streams for which no thread waits. cudaErrorLaunchFailure: work has failed since the last call.
 */
cudaError_t cudaStreamSynchronize(cudaStream_t stream) XYLEM_PTSZ(cudaStreamSynchronize);

/* cudaSuccess if all enqueued work is done, otherwise cudaErrorNotReady. */
cudaError_t cudaStreamQuery(cudaStream_t stream) XYLEM_PTSZ(cudaStreamQuery);

/* Frees the stream; the work enqueued on it is still done. */
cudaError_t cudaStreamDestroy(cudaStream_t stream);

/* Calls `function` in the order of `stream`. It must not call a function of this header or of nccl.h. */
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument)
    XYLEM_PTSZ(cudaLaunchHostFunc);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* userData);
/* The same; the callback also gets the stream. `flags` must be 0. Cannot be captured. */
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* argument,
                                  unsigned int flags) XYLEM_PTSZ(cudaStreamAddCallback);

/* ---- Events ------------------------------------------------------------------------------------------- */

/* An event that was never recorded counts as reached. cudaEventInterprocess needs cudaEventDisableTiming. */
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
/* Records the point in `stream` behind all enqueued work. Earlier waits still wait for the earlier point.
 * With cudaEventRecordExternal, a captured record is a node that records when it is launched. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaEventRecord);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream XYLEM_DEFAULT(0),
                                     unsigned int flags XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaEventRecordWithFlags);
/* The first waits for the recorded point, the second returns cudaErrorNotReady if it is not reached. Both return the error of work before it
 * that the program was not told of, which its stream keeps, and work that waits for the event fails with it; not for events of other processes. */
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/* The time between two recorded points, in milliseconds. cudaErrorNotReady: one of them is not reached;
 * cudaErrorInvalidResourceHandle: never recorded, or without timing. */
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
/* Returns at once, even if the event was not reached yet. */
cudaError_t cudaEventDestroy(cudaEvent_t event);
/* Work enqueued on `stream` from now on waits for the recorded point. If the event was recorded in a captured
 * stream, `stream` becomes part of that capture. With cudaEventWaitExternal, a captured wait is a node that
 * waits for the point that is recorded when the node is launched. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaStreamWaitEvent);

/* ---- Between processes -------------------------------------------------------------------------------- */

/* Handles of the whole allocation (of cudaMalloc or ncclMemAlloc) into which `pointer` points, and of an
 * event with cudaEventInterprocess. They are for other processes of the same user on this host that see each
 * other in /proc: containers must share a PID namespace. */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
/* Maps the allocation and stores its start: the same pointer each time, until it was closed as often. `flags`
 * must be cudaIpcMemLazyEnablePeerAccess. cudaErrorDeviceUninitialized: the handle comes from this process;
 * cudaErrorMapBufferObjectFailed: its process is gone, or has freed the memory's whole region. */
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void* pointer);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);

/* ---- Capture and graphs ------------------------------------------------------------------------------- */

/* From now on, work enqueued on `stream`, and on streams that wait for it by events, is not done but becomes
 * nodes of a graph: copies, memsets, host functions, events and collectives. The default stream cannot be
 * captured (cudaErrorStreamCaptureUnsupported). */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
    XYLEM_PTSZ(cudaStreamBeginCapture);
/* Ends the capture and stores the graph, or null with an error. Every error ends the capture, except
 * cudaErrorStreamCaptureUnmatched and cudaErrorStreamCaptureWrongThread. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) XYLEM_PTSZ(cudaStreamEndCapture);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status)
    XYLEM_PTSZ(cudaStreamIsCapturing);
/* `id` is different for every capture of the process. `graph`, to which the program may add resources, and
 * `nodes`, the `*count` nodes on which the next one in this stream depends, are valid until the next call on the
 * stream. Results may be null, except `status`. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define XYLEM_CAPTURE_INFO __asm__("cudaStreamGetCaptureInfo_v2_ptsz")
#else
#define XYLEM_CAPTURE_INFO __asm__("cudaStreamGetCaptureInfo_v2")
#endif
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
                                     unsigned long long* id XYLEM_DEFAULT(0),
                                     cudaGraph_t* graph XYLEM_DEFAULT(0),
                                     const cudaGraphNode_t** nodes XYLEM_DEFAULT(0),
                                     size_t* count XYLEM_DEFAULT(0)) XYLEM_CAPTURE_INFO;
#undef XYLEM_CAPTURE_INFO
#define cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo
/* Exchanges `*mode` with the mode of this thread: which captures of other threads its calls respect (global,
 * thread-local, or relaxed: none). */
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode);

/* The same into a graph that exists, behind `count` nodes of it; `edges` makes no difference. The end of the capture stores
 * that graph. */
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges,
                                          size_t count, enum cudaStreamCaptureMode mode)
    XYLEM_PTSZ(cudaStreamBeginCaptureToGraph);
/* The next node in the captured stream depends on these nodes of its graph: only on them, or on them, too (`flags`). */
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count,
                                                unsigned int flags XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaStreamUpdateCaptureDependencies);

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
/* Add one node behind `count` nodes of the graph and store it. */
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  size_t count);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                 size_t count, const struct cudaHostNodeParams* parameters);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const struct cudaMemsetParams* parameters);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const struct cudaMemcpy3DParms* parameters);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* destination, const void* source, size_t bytes,
                                     enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child);
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* after, size_t count, cudaEvent_t event);
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                      size_t count, cudaEvent_t event);
/* Pairs of nodes of which the second one also depends on the first one. cudaErrorNotSupported: the first one was added
 * after the second. */
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count);
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone);
/* Writes the graph in Graphviz's language; `flags` makes no difference. */
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags);

/* An object of the program with `references`. When the last one is released, by the program or with the last graph that
 * has one, `destroy` gets the pointer; it must not call a function of this header. */
cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned int references, unsigned int flags);
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count XYLEM_DEFAULT(1));
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count XYLEM_DEFAULT(1));
/* With cudaGraphUserObjectMove the graph takes over the program's references. */
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                      unsigned int count XYLEM_DEFAULT(1),
                                      unsigned int flags XYLEM_DEFAULT(0));
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                       unsigned int count XYLEM_DEFAULT(1));

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
/* Stores up to `*count` nodes, in the order of capture, and their number; `nodes` may be null. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
/* The same for nodes that depend on no other, and for pairs of which the second node depends on the first. */
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count);
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                 cudaGraphEdgeData* edges, size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType* type);

/* A copy of the graph, ready to be launched; its launches run one after the other. */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags XYLEM_DEFAULT(0));
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags XYLEM_DEFAULT(0));
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags);
/* Puts `graph` in place of the one of which `exec` was made: all nodes must be of the same types, with the same
 * dependencies, in the same order. cudaErrorGraphExecUpdateFailure: `*info` says what differs; `exec` is as before. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info);
/* Enqueues the whole graph on `stream`. Captured collectives are issued anew: all ranks must launch the
 * graphs that they captured together. cudaErrorLaunchFailure: a communicator of the graph is broken or
 * destroyed (ncclGetLastError). */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) XYLEM_PTSZ(cudaGraphLaunch);
/* Does nothing: there is nothing to upload. */
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) XYLEM_PTSZ(cudaGraphUpload);
/* Frees the graph; launches that are under way still finish. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

/* The address of a function of cuda.h by its name without a version; `flags` makes no difference. If there is none the
 * address is null, and `status`, which may be null, says so. */
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult* status XYLEM_DEFAULT(0));
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult* status XYLEM_DEFAULT(0));

/* These do nothing: there is no profiler. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#include "xylem_no_kernels.h"

#undef XYLEM_DEFAULT
#undef XYLEM_OF_CUDA_12
#undef XYLEM_PTDS
#undef XYLEM_PTSZ

#endif /* __CUDA_RUNTIME_API_H__ */
