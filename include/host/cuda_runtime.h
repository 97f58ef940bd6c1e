/*
 * The CUDA runtime's names for Xylem's host devices, so that a program written for GPUs compiles and runs on
 * plain CPUs: a "device" is CPU cores and their memory, device memory is host memory, and a stream is an
 * in-order queue of work.
 *
 *   float* data;
 *   cudaStream_t stream;
 *   cudaSetDevice(0);
 *   cudaMalloc((void**)&data, count * sizeof(float));
 *   cudaStreamCreate(&stream);
 *   ncclAllReduce(data, data, count, ncclFloat, ncclSum, comm, stream);
 *   cudaStreamSynchronize(stream);
 *
 * Put include/host on the include path to satisfy `#include <cuda_runtime.h>` (xylem-cc does); nccl.h
 * includes this file by itself. Beside NVIDIA's headers, of two of one name the one that is included first
 * stands for both. cuda_runtime_api.h describes each function. Kernels do not run here: xylem_no_kernels.h.
 */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

#include "cuda_runtime_api.h"
#include "library_types.h"
#include "vector_functions.h"

#ifdef __cplusplus

#include <utility>

/* C++ programs may pass the address of a pointer to anything. */
template <typename T>
inline cudaError_t cudaMalloc(T** pointer, size_t size) {
  return cudaMalloc(static_cast<void**>(static_cast<void*>(pointer)), size);
}
template <typename T>
inline cudaError_t cudaMallocAsync(T** pointer, size_t size, cudaStream_t stream) {
  return cudaMallocAsync(static_cast<void**>(static_cast<void*>(pointer)), size, stream);
}
template <typename T>
inline cudaError_t cudaMallocManaged(T** pointer, size_t size, unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(static_cast<void**>(static_cast<void*>(pointer)), size, flags);
}
template <typename T>
inline cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
  return cudaMallocPitch(static_cast<void**>(static_cast<void*>(pointer)), pitch, width, height);
}
/* With flags, as for C++ under CUDA, where this is the same as cudaHostAlloc. */
template <typename T>
inline cudaError_t cudaMallocHost(T** pointer, size_t size, unsigned int flags = cudaHostAllocDefault) {
  return cudaHostAlloc(static_cast<void**>(static_cast<void*>(pointer)), size, flags);
}
template <typename T>
inline cudaError_t cudaHostAlloc(T** pointer, size_t size, unsigned int flags) {
  return cudaHostAlloc(static_cast<void**>(static_cast<void*>(pointer)), size, flags);
}
template <typename T>
inline cudaError_t cudaHostGetDevicePointer(T** devicePointer, void* hostPointer, unsigned int flags) {
  return cudaHostGetDevicePointer(static_cast<void**>(static_cast<void*>(devicePointer)), hostPointer, flags);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
/* As C programs before CUDA 12 call it: nothing is ever written to `node` and `log` but what says that all is
 * well. */
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t* node,
                                        char* log, size_t logBytes) {
  if (node != nullptr) *node = nullptr;
  if (log != nullptr && logBytes > 0) *log = 0;
  return cudaGraphInstantiate(exec, graph, 0ull);
}

#endif /* __cplusplus */

#endif /* __CUDA_RUNTIME_H__ */
