/*
 * The CUDA runtime's names for Xylem's host device, so that a program written for GPUs compiles and runs on
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
 * Put include/host on the include path to satisfy `#include <cuda_runtime.h>`; nccl.h includes this file by
 * itself. If NVIDIA's own header was included before, this one stays empty. Sizes are in bytes. Every
 * function may be called from any thread; the current device belongs to the calling thread and is 0 at first.
 */
#ifndef XYLEM_HOST_CUDA_RUNTIME_H_
#define XYLEM_HOST_CUDA_RUNTIME_H_
#ifndef __CUDA_RUNTIME_H__

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* What a call returns. The numbers are CUDA's. */
typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,        /* an argument that cannot be used, such as a null pointer */
  cudaErrorMemoryAllocation = 2,    /* not that much memory */
  cudaErrorInitializationError = 3, /* the environment cannot be used (XYLEM_HOST_DEVICES, for one) */
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,         /* not a number from 0 to the device count less 1 */
  cudaErrorInvalidResourceHandle = 400, /* not a stream, or one that was destroyed */
  cudaErrorNotReady = 600,              /* work is still under way */
  cudaErrorLaunchFailure = 719, /* work failed while running; ncclGetLastError has the text for collectives */
  cudaErrorUnknown = 999
} cudaError_t;

/* Direction of a copy. On the host device all memory is host memory, so all of them copy. */
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

/* A queue of work that runs in order. Null is the default stream of the current device; here it is one more
 * stream and does not wait for the others. */
typedef struct CUstream_st* cudaStream_t;
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

/* A sentence that describes `error`, and its name. Never null. */
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

/* The number of host devices: XYLEM_HOST_DEVICES if that is set, else one per core, or per process of the job
 * on this machine if a launcher (mpirun, srun, torchrun) says that there are more. */
cudaError_t cudaGetDeviceCount(int* count);

/* Makes `device` (0 to count-1) the calling thread's device. */
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);

/* Creates a stream on the calling thread's device. */
cudaError_t cudaStreamCreate(cudaStream_t* stream);

/* Waits until everything enqueued on `stream` before the call is done. The waiting thread runs the work
 * itself, and that of streams nobody waits for. cudaErrorLaunchFailure if work failed since the last call. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

/* cudaSuccess if everything enqueued is done, cudaErrorNotReady if not. */
cudaError_t cudaStreamQuery(cudaStream_t stream);

/* Waits for the stream's work and frees it. */
cudaError_t cudaStreamDestroy(cudaStream_t stream);

/* Waits for the work of every stream of the calling thread's device. */
cudaError_t cudaDeviceSynchronize(void);

/* Memory of the current device: `size` bytes aligned to 256 (null for size 0). cudaFree takes what cudaMalloc
 * gave, or null, after waiting for the work of every stream of the current device. */
cudaError_t cudaMalloc(void** pointer, size_t size);
cudaError_t cudaFree(void* pointer);

/* Copies or sets `count` bytes after the work of every stream of the current device is done; returns when
 * finished. */
cudaError_t cudaMemcpy(void* destination, const void* source, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemset(void* pointer, int value, size_t count);

/* The same, in the order of `stream`; returns at once. The memory must stay until the stream is past it. */
cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* __CUDA_RUNTIME_H__ */
#endif /* XYLEM_HOST_CUDA_RUNTIME_H_ */
