// The functions that programs compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM call: in these, a null stream
// means the calling thread's default stream. (Synchronous copies are in cuda_copy.cc.)

#include "host/cuda_runtime.h"

namespace {

cudaStream_t perThread(cudaStream_t stream) { return stream == nullptr ? cudaStreamPerThread : stream; }

// All edges are of the usual kind.
size_t* withoutEdgeData(const cudaGraphEdgeData** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return count;
}

}  // namespace

#define XYLEM_PER_THREAD(NAME, PARAMETERS, ...)                                          \
  extern "C" __attribute__((visibility("default"))) cudaError_t NAME##_ptsz PARAMETERS { \
    return NAME(__VA_ARGS__);                                                            \
  }

XYLEM_PER_THREAD(cudaMallocAsync, (void** p, size_t size, cudaStream_t s), p, size, perThread(s))
XYLEM_PER_THREAD(cudaFreeAsync, (void* p, cudaStream_t s), p, perThread(s))
XYLEM_PER_THREAD(cudaMemPrefetchAsync, (const void* p, size_t count, int device, cudaStream_t s), p, count,
                 device, perThread(s))
XYLEM_PER_THREAD(cudaMemcpyAsync,
                 (void* to, const void* from, size_t count, cudaMemcpyKind kind, cudaStream_t s), to, from,
                 count, kind, perThread(s))
XYLEM_PER_THREAD(cudaMemcpyPeerAsync,
                 (void* to, int toDevice, const void* from, int fromDevice, size_t count, cudaStream_t s), to,
                 toDevice, from, fromDevice, count, perThread(s))
XYLEM_PER_THREAD(cudaMemcpy2DAsync,
                 (void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height,
                  cudaMemcpyKind kind, cudaStream_t s),
                 to, toPitch, from, fromPitch, width, height, kind, perThread(s))
XYLEM_PER_THREAD(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* parameters, cudaStream_t s), parameters,
                 perThread(s))
XYLEM_PER_THREAD(cudaMemcpy3DPeerAsync, (const cudaMemcpy3DPeerParms* parameters, cudaStream_t s), parameters,
                 perThread(s))
XYLEM_PER_THREAD(cudaMemset3DAsync, (cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t s),
                 pointer, value, extent, perThread(s))
XYLEM_PER_THREAD(cudaMemcpyBatchAsync,
                 (void** to, void** from, size_t* sizes, size_t count, cudaMemcpyAttributes* attributes,
                  size_t* firsts, size_t attributeCount, size_t* failed, cudaStream_t s),
                 to, from, sizes, count, attributes, firsts, attributeCount, failed, perThread(s))
XYLEM_PER_THREAD(cudaMallocFromPoolAsync, (void** p, size_t size, cudaMemPool_t pool, cudaStream_t s), p,
                 size, pool, perThread(s))
XYLEM_PER_THREAD(cudaMemsetAsync, (void* p, int value, size_t count, cudaStream_t s), p, value, count,
                 perThread(s))
XYLEM_PER_THREAD(cudaMemset2DAsync,
                 (void* p, size_t pitch, int value, size_t width, size_t height, cudaStream_t s), p, pitch,
                 value, width, height, perThread(s))
XYLEM_PER_THREAD(cudaStreamGetFlags, (cudaStream_t s, unsigned* flags), perThread(s), flags)
XYLEM_PER_THREAD(cudaStreamGetPriority, (cudaStream_t s, int* priority), perThread(s), priority)
XYLEM_PER_THREAD(cudaStreamGetDevice, (cudaStream_t s, int* device), perThread(s), device)
XYLEM_PER_THREAD(cudaStreamGetId, (cudaStream_t s, unsigned long long* id), perThread(s), id)
XYLEM_PER_THREAD(cudaStreamSynchronize, (cudaStream_t s), perThread(s))
XYLEM_PER_THREAD(cudaStreamQuery, (cudaStream_t s), perThread(s))
XYLEM_PER_THREAD(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t function, void* argument), perThread(s),
                 function, argument)
XYLEM_PER_THREAD(cudaStreamAddCallback,
                 (cudaStream_t s, cudaStreamCallback_t callback, void* argument, unsigned flags),
                 perThread(s), callback, argument, flags)
XYLEM_PER_THREAD(cudaEventRecord, (cudaEvent_t event, cudaStream_t s), event, perThread(s))
XYLEM_PER_THREAD(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t s, unsigned flags), event,
                 perThread(s), flags)
XYLEM_PER_THREAD(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t event, unsigned flags), perThread(s),
                 event, flags)
XYLEM_PER_THREAD(cudaStreamBeginCapture, (cudaStream_t s, cudaStreamCaptureMode mode), perThread(s), mode)
XYLEM_PER_THREAD(cudaStreamBeginCaptureToGraph,
                 (cudaStream_t s, cudaGraph_t graph, const cudaGraphNode_t* nodes,
                  const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode),
                 perThread(s), graph, nodes, edges, count, mode)
XYLEM_PER_THREAD(cudaStreamUpdateCaptureDependencies,
                 (cudaStream_t s, cudaGraphNode_t* nodes, size_t count, unsigned flags), perThread(s), nodes,
                 count, flags)
XYLEM_PER_THREAD(cudaStreamEndCapture, (cudaStream_t s, cudaGraph_t* graph), perThread(s), graph)
XYLEM_PER_THREAD(cudaStreamIsCapturing, (cudaStream_t s, cudaStreamCaptureStatus* status), perThread(s),
                 status)
XYLEM_PER_THREAD(cudaStreamGetCaptureInfo,
                 (cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                  const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges, size_t* count),
                 perThread(s), status, id, graph, nodes, withoutEdgeData(edges, count))
XYLEM_PER_THREAD(cudaStreamGetCaptureInfo_v2,
                 (cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                  const cudaGraphNode_t** nodes, size_t* count),
                 perThread(s), status, id, graph, nodes, count)
XYLEM_PER_THREAD(cudaMemPrefetchAsync_v2,
                 (const void* p, size_t count, cudaMemLocation location, unsigned flags, cudaStream_t s), p,
                 count, location, flags, perThread(s))
XYLEM_PER_THREAD(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t s), exec, perThread(s))
XYLEM_PER_THREAD(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t s), exec, perThread(s))
