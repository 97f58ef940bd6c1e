/*
 * As a benchmark does it: captures a number of collectives of each kind into graphs and measures their
 * launches with events.
 *
 *   xylem-cc examples/nccl_graph.c -o graph && XYLEM_HOST_DEVICES=4 ./graph
 */
#include <cuda_runtime.h>
#include <nccl.h>

#include "check.h"

#define DEVICES 4
#define COUNT 4096
#define LAUNCHES 20

static ncclComm_t comms[DEVICES];
static cudaStream_t streams[DEVICES];
static float *send[DEVICES], *receive[DEVICES];
static ncclRedOp_t halves[DEVICES];

typedef ncclResult_t (*Call)(int device);

static ncclResult_t allReduce(int i) {
  return ncclAllReduce(send[i], receive[i], COUNT, ncclFloat, ncclSum, comms[i], streams[i]);
}
static ncclResult_t scaled(int i) {
  return ncclAllReduce(send[i], receive[i], COUNT, ncclFloat, halves[i], comms[i], streams[i]);
}
static ncclResult_t allGather(int i) {
  return ncclAllGather(send[i], receive[i], COUNT / DEVICES, ncclFloat, comms[i], streams[i]);
}
static ncclResult_t reduceScatter(int i) {
  return ncclReduceScatter(send[i], receive[i], COUNT / DEVICES, ncclFloat, ncclMax, comms[i], streams[i]);
}
static ncclResult_t broadcast(int i) {
  return ncclBroadcast(send[i], receive[i], COUNT, ncclFloat, 0, comms[i], streams[i]);
}
static ncclResult_t reduce(int i) {
  return ncclReduce(send[i], receive[i], COUNT, ncclFloat, ncclSum, 0, comms[i], streams[i]);
}
#ifdef XYLEM_HAS_NCCL_ALLTOALL
static ncclResult_t allToAll(int i) {
  return ncclAlltoAll(send[i], receive[i], COUNT / DEVICES, ncclFloat, comms[i], streams[i]);
}
static ncclResult_t gather(int i) {
  return ncclGather(send[i], receive[i], COUNT / DEVICES, ncclFloat, 0, comms[i], streams[i]);
}
static ncclResult_t scatter(int i) {
  return ncclScatter(send[i], receive[i], COUNT / DEVICES, ncclFloat, 0, comms[i], streams[i]);
}
#endif

static void measure(const char* name, Call call) {
  cudaGraph_t graphs[DEVICES];
  cudaGraphExec_t execs[DEVICES];
  cudaEvent_t start, stop;
  float milliseconds = 0;
  for (int i = 0; i < DEVICES; ++i)
    CUDACHECK(cudaStreamBeginCapture(streams[i], cudaStreamCaptureModeThreadLocal));
  NCCLCHECK(ncclGroupStart());
  for (int i = 0; i < DEVICES; ++i) NCCLCHECK(call(i));
  NCCLCHECK(ncclGroupEnd());
  for (int i = 0; i < DEVICES; ++i) {
    CUDACHECK(cudaStreamEndCapture(streams[i], &graphs[i]));
    CUDACHECK(cudaGraphInstantiate(&execs[i], graphs[i], 0));
  }
  CUDACHECK(cudaEventCreate(&start));
  CUDACHECK(cudaEventCreate(&stop));
  CUDACHECK(cudaEventRecord(start, streams[0]));
  for (int launch = 0; launch < LAUNCHES; ++launch)
    for (int i = 0; i < DEVICES; ++i) CUDACHECK(cudaGraphLaunch(execs[i], streams[i]));
  CUDACHECK(cudaEventRecord(stop, streams[0]));
  for (int i = 0; i < DEVICES; ++i) {
    CUDACHECK(cudaStreamSynchronize(streams[i]));
    CUDACHECK(cudaGraphExecDestroy(execs[i]));
    CUDACHECK(cudaGraphDestroy(graphs[i]));
  }
  CUDACHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  CUDACHECK(cudaEventDestroy(start));
  CUDACHECK(cudaEventDestroy(stop));
  printf("%-14s %8.1f us\n", name, (double)milliseconds * 1000 / LAUNCHES);
}

int main(void) {
  requireDevices(DEVICES);
  float ones[COUNT], half = 0.5f;
  int major = 0;
  for (size_t i = 0; i < COUNT; ++i) ones[i] = 1;
  CUDACHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  for (int i = 0; i < DEVICES; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CUDACHECK(cudaMalloc((void**)&send[i], sizeof ones));
    CUDACHECK(cudaMalloc((void**)&receive[i], sizeof ones));
    CUDACHECK(cudaMemcpy(send[i], ones, sizeof ones, cudaMemcpyDefault));
  }
  NCCLCHECK(ncclCommInitAll(comms, DEVICES, NULL));
  for (int i = 0; i < DEVICES; ++i)
    NCCLCHECK(ncclRedOpCreatePreMulSum(&halves[i], &half, ncclFloat, ncclScalarHostImmediate, comms[i]));

  printf("compute capability %d, %d devices\n", major, DEVICES);
  measure("AllReduce", allReduce);
  EXPECT_ALL(receive[DEVICES - 1], COUNT, (float)DEVICES);
  measure("PreMulSum", scaled);
  EXPECT_ALL(receive[0], COUNT, (float)DEVICES / 2);
  measure("AllGather", allGather);
  measure("ReduceScatter", reduceScatter);
  measure("Broadcast", broadcast);
  EXPECT_ALL(receive[1], COUNT, 1.0f);
  measure("Reduce", reduce);
  EXPECT_ALL(receive[0], COUNT, (float)DEVICES);
#ifdef XYLEM_HAS_NCCL_ALLTOALL
  measure("AlltoAll", allToAll);
  measure("Gather", gather);
  EXPECT_ALL(receive[0], COUNT, 1.0f);
  measure("Scatter", scatter);
#endif

  for (int i = 0; i < DEVICES; ++i) {
    NCCLCHECK(ncclRedOpDestroy(halves[i], comms[i]));
    CUDACHECK(cudaStreamDestroy(streams[i]));
    CUDACHECK(cudaFree(send[i]));
    CUDACHECK(cudaFree(receive[i]));
  }
  for (int i = 0; i < DEVICES; ++i) NCCLCHECK(ncclCommDestroy(comms[i]));
  return 0;
}
