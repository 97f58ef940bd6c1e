/* host/cuda_runtime.h as a C99 program sees it and uses it. */

#include <string.h>

#include "host/cuda_runtime.h"

#define STATIC_ASSERT(NAME, CONDITION) typedef char NAME[(CONDITION) ? 1 : -1]

/* Programs that were compiled with CUDA's own header rely on these. */
STATIC_ASSERT(ipcHandles, sizeof(cudaIpcMemHandle_t) == 64 && sizeof(cudaIpcEventHandle_t) == 64);
STATIC_ASSERT(errors, cudaErrorNotReady == 600 && cudaErrorStreamCaptureUnsupported == 900 &&
                          sizeof(cudaError_t) == 4);
STATIC_ASSERT(kinds, cudaMemcpyDefault == 4 && cudaMemoryTypeManaged == 3);
STATIC_ASSERT(attributes, cudaDevAttrComputeCapabilityMajor == 75 && cudaDevAttrComputeCapabilityMinor == 76);
STATIC_ASSERT(vectors, sizeof(float4) == 16 && sizeof(uchar4) == 4 && sizeof(dim3) == 12);

static void addOne(void* number) { ++*(int*)number; }

/* 0, or the line where something was not as it should. */
#define REQUIRE(CONDITION) \
  if (!(CONDITION)) return __LINE__

int runCudaProgramInC(void);
int runCudaProgramInC(void) {
  struct cudaDeviceProp properties;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  char *data, text[8] = "abc";
  float milliseconds = -1;
  int calls = 0;
  dim3 grid;
  grid.x = grid.y = grid.z = 1;
  REQUIRE(cudaGetDeviceProperties(&properties, 0) == cudaSuccess && properties.warpSize == 32);
  REQUIRE(cudaMalloc((void**)&data, 8) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaEventCreate(&start) == cudaSuccess && cudaEventCreate(&stop) == cudaSuccess);
  REQUIRE(cudaEventRecord(start, stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(data, text, 4, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  REQUIRE(cudaLaunchHostFunc(stream, addOne, &calls) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudaEventRecord(stop, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
  REQUIRE(calls == 1 && strcmp(data, "abc") == 0);
  REQUIRE(cudaEventElapsedTime(&milliseconds, start, stop) == cudaSuccess && milliseconds >= 0);
  REQUIRE(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
  REQUIRE(cudaEventDestroy(start) == cudaSuccess && cudaEventDestroy(stop) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess && cudaFree(data) == cudaSuccess);
  return grid.x == 1 ? 0 : __LINE__;
}
