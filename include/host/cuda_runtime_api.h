/*
 * The CUDA runtime's functions on Xylem's host devices, for C and C++. cuda_runtime.h, which includes this
 * file, says what it is and how to use it.
 *
 * Sizes are in bytes. Every function may be called from any thread; the current device belongs to the calling
 * thread and is 0 at first. Null where a result is to be stored is cudaErrorInvalidValue; a handle that is
 * not one, or of something that was destroyed, is cudaErrorInvalidResourceHandle. Any call that enqueues work
 * on a stream that is captured adds it to the graph instead. These are not repeated below.
 */
#ifndef XYLEM_HOST_CUDA_RUNTIME_API_H_
#define XYLEM_HOST_CUDA_RUNTIME_API_H_

/* The version of CUDA whose names and numbers these are, for a program's #if. */
#define CUDART_VERSION 12080
#define CUDARTAPI
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

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device);
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

/* Kept, per device, and told; they make no difference. */
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int* flags);
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
/* There are no such limits: cudaErrorUnsupportedLimit. */
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit);

/* Every device reaches every other. Enabling it twice is cudaErrorPeerAccessAlreadyEnabled. */
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attribute, int device, int peer);

/* CUDART_VERSION, both. */
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

/* The same in the order of a stream: the memory is there at once, and gone when the stream gets to the free.
 */
cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) XYLEM_PTSZ(cudaMallocAsync);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) XYLEM_PTSZ(cudaFreeAsync);

/* The same for memory of the host, which is no different here. Flags make no difference. */
cudaError_t cudaMallocHost(void** pointer, size_t size);
cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags);
cudaError_t cudaFreeHost(void* pointer);

/* Memory that the program has already. cudaErrorHostMemoryAlreadyRegistered: some of it is;
 * cudaErrorHostMemoryNotRegistered: no registration starts there. */
cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void* pointer);
/* The pointer itself, of registered or allocated host memory. */
cudaError_t cudaHostGetDevicePointer(void** devicePointer, void* hostPointer, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int* flags, void* hostPointer);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* pointer);

/* Accepted for memory of cudaMallocManaged; they make no difference. */
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, int device,
                                 cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemPrefetchAsync);
cudaError_t cudaMemAdvise(const void* pointer, size_t count, enum cudaMemoryAdvise advice, int device);

/* Copies or sets `count` bytes in the default stream of the current device; returns when finished. */
cudaError_t cudaMemcpy(void* destination, const void* source, size_t count, enum cudaMemcpyKind kind)
    XYLEM_PTDS(cudaMemcpy);
cudaError_t cudaMemcpyPeer(void* destination, int destinationDevice, const void* source, int sourceDevice,
                           size_t count);
cudaError_t cudaMemcpy2D(void* destination, size_t destinationPitch, const void* source, size_t sourcePitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind) XYLEM_PTDS(cudaMemcpy2D);
cudaError_t cudaMemset(void* pointer, int value, size_t count) XYLEM_PTDS(cudaMemset);
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height)
    XYLEM_PTDS(cudaMemset2D);

/* The same, in the order of `stream`; returns at once. The memory must stay until the stream is past it, but
 * for the source of a copy from host to device that is not from cudaMallocHost, cudaHostAlloc or
 * cudaHostRegister: it may go at once, unless the copy is captured. */
cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemcpyAsync);
cudaError_t cudaMemcpyPeerAsync(void* destination, int destinationDevice, const void* source,
                                int sourceDevice, size_t count, cudaStream_t stream XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaMemcpyPeerAsync);
cudaError_t cudaMemcpy2DAsync(void* destination, size_t destinationPitch, const void* source,
                              size_t sourcePitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemcpy2DAsync);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaMemsetAsync);
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream XYLEM_DEFAULT(0)) XYLEM_PTSZ(cudaMemset2DAsync);

/* ---- Streams ------------------------------------------------------------------------------------------ */

/* Creates a stream on the calling thread's device. Without cudaStreamNonBlocking it and the device's default
 * stream wait for each other. Priorities are kept and told, but whoever waits runs first. */
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) XYLEM_PTSZ(cudaStreamGetFlags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) XYLEM_PTSZ(cudaStreamGetPriority);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) XYLEM_PTSZ(cudaStreamGetDevice);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) XYLEM_PTSZ(cudaStreamGetId);

/* Waits until everything enqueued on `stream` before the call is done. The waiting thread runs the work
 * itself, and that of streams nobody waits for. cudaErrorLaunchFailure if work failed since the last call. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream) XYLEM_PTSZ(cudaStreamSynchronize);

/* cudaSuccess if everything enqueued is done, cudaErrorNotReady if not. */
cudaError_t cudaStreamQuery(cudaStream_t stream) XYLEM_PTSZ(cudaStreamQuery);

/* Frees the stream; what is enqueued on it goes on to its end. */
cudaError_t cudaStreamDestroy(cudaStream_t stream);

/* Calls `function` in the order of `stream`. It must not call anything of this header or nccl.h. */
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument)
    XYLEM_PTSZ(cudaLaunchHostFunc);
/* The same with the stream; `flags` must be 0. Cannot be captured. */
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* argument,
                                  unsigned int flags) XYLEM_PTSZ(cudaStreamAddCallback);

/* ---- Events ------------------------------------------------------------------------------------------- */

/* One that was never recorded counts as reached. cudaEventInterprocess needs cudaEventDisableTiming. */
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
/* Waiting that was asked for before goes on for the earlier place. With cudaEventRecordExternal, a captured
 * record is a node that records when it is launched. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaEventRecord);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream XYLEM_DEFAULT(0),
                                     unsigned int flags XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaEventRecordWithFlags);
/* Waits for, or asks (cudaErrorNotReady) about, the place. Errors of work before it stay with its stream. */
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/* From one place to the other, both reached (else cudaErrorNotReady). cudaErrorInvalidResourceHandle: never
 * recorded or without timing. */
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
/* Returns at once, even if the event was not reached yet. */
cudaError_t cudaEventDestroy(cudaEvent_t event);
/* Lets what is enqueued on `stream` from now on wait for the place; with an event that was recorded in a
 * stream that is captured, `stream` becomes part of that capture. cudaEventWaitExternal: a captured wait is a
 * node that waits for what the event stands for when it is launched. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaStreamWaitEvent);

/* ---- Between processes -------------------------------------------------------------------------------- */

/* A handle of the whole allocation that `pointer` points into, of cudaMalloc or ncclMemAlloc, and of an event
 * with cudaEventInterprocess. Both are for other processes of the same user on this host, which must get at
 * each other's /proc: in containers, of one PID namespace. */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
/* Maps the allocation's start; the same pointer each time, until it was closed as often. `flags` must be
 * cudaIpcMemLazyEnablePeerAccess. cudaErrorDeviceUninitialized: in the process the handle comes from;
 * cudaErrorMapBufferObjectFailed: that process is gone, or freed the memory's whole region. */
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void* pointer);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);

/* ---- Capture and graphs ------------------------------------------------------------------------------- */

/* From now on what is enqueued on `stream`, and on streams that wait for it by events, is not done but
 * becomes the nodes of a graph: copies, memsets, host functions, events and collectives. Not for the default
 * stream (cudaErrorStreamCaptureUnsupported). */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
    XYLEM_PTSZ(cudaStreamBeginCapture);
/* The graph; null with any error, after which nothing is captured any more, but for
 * cudaErrorStreamCaptureUnmatched and cudaErrorStreamCaptureWrongThread. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) XYLEM_PTSZ(cudaStreamEndCapture);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status)
    XYLEM_PTSZ(cudaStreamIsCapturing);
/* `id` is different for every capture of the process. */
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
                                     unsigned long long* id XYLEM_DEFAULT(0))
    XYLEM_PTSZ(cudaStreamGetCaptureInfo);
/* Swaps `*mode` with what this thread respects of others' captures: global, thread-local, or none (relaxed).
 */
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode);

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
/* Stores up to `*count` nodes, in the order of capture, and their number; `nodes` may be null. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
/* The same for nodes that depend on none, and for pairs of nodes of which the second depends on the first. */
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType* type);

/* A copy of the graph, ready to be launched; its launches run one after the other. */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags XYLEM_DEFAULT(0));
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags XYLEM_DEFAULT(0));
/* Enqueues all of it on `stream`; captured collectives are issued anew, so that all ranks must launch what
 * they captured together. cudaErrorLaunchFailure: a communicator of the graph is broken or gone
 * (ncclGetLastError). */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) XYLEM_PTSZ(cudaGraphLaunch);
/* Nothing is left to upload. */
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) XYLEM_PTSZ(cudaGraphUpload);
/* Launches that are under way finish. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

/* There is no profiler. */
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
#undef XYLEM_PTDS
#undef XYLEM_PTSZ

#endif /* XYLEM_HOST_CUDA_RUNTIME_API_H_ */
