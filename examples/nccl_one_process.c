/*
 * One thread drives several devices: ncclCommInitAll, and groups around the calls for all of them. Each adds
 * up what all devices have, then hands it round a ring.
 *
 *   xylem-cc examples/nccl_one_process.c -o one_process && XYLEM_HOST_DEVICES=4 ./one_process
 */
#include <cuda_runtime.h>
#include <nccl.h>

#include "check.h"

#define DEVICES 4
#define COUNT 100000

static void fill(float* data, float value) {
  float* onHost = (float*)malloc(COUNT * sizeof(float));
  for (size_t i = 0; i < COUNT; ++i) onHost[i] = value;
  CUDACHECK(cudaMemcpy(data, onHost, COUNT * sizeof(float), cudaMemcpyHostToDevice));
  free(onHost);
}

int main(void) {
  requireDevices(DEVICES);
  ncclComm_t comms[DEVICES];
  cudaStream_t streams[DEVICES];
  float *send[DEVICES], *receive[DEVICES];
  int devices[DEVICES] = {0, 1, 2, 3};
  for (int i = 0; i < DEVICES; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaMalloc((void**)&send[i], COUNT * sizeof(float)));
    CUDACHECK(cudaMalloc((void**)&receive[i], COUNT * sizeof(float)));
    fill(send[i], (float)(i + 1));
    CUDACHECK(cudaStreamCreate(&streams[i]));
  }
  NCCLCHECK(ncclCommInitAll(comms, DEVICES, devices));

  NCCLCHECK(ncclGroupStart());
  for (int i = 0; i < DEVICES; ++i)
    NCCLCHECK(ncclAllReduce(send[i], receive[i], COUNT, ncclFloat, ncclSum, comms[i], streams[i]));
  NCCLCHECK(ncclGroupEnd());
  for (int i = 0; i < DEVICES; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaStreamSynchronize(streams[i]));
    EXPECT_ALL(receive[i], COUNT, 10.0f);
  }

  NCCLCHECK(ncclGroupStart());
  for (int i = 0; i < DEVICES; ++i) {
    NCCLCHECK(ncclSend(send[i], COUNT, ncclFloat, (i + 1) % DEVICES, comms[i], streams[i]));
    NCCLCHECK(ncclRecv(receive[i], COUNT, ncclFloat, (i + DEVICES - 1) % DEVICES, comms[i], streams[i]));
  }
  NCCLCHECK(ncclGroupEnd());
  for (int i = 0; i < DEVICES; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaStreamSynchronize(streams[i]));
    EXPECT_ALL(receive[i], COUNT, (float)((i + DEVICES - 1) % DEVICES + 1));
    CUDACHECK(cudaFree(send[i]));
    CUDACHECK(cudaFree(receive[i]));
    CUDACHECK(cudaStreamDestroy(streams[i]));
  }
  for (int i = 0; i < DEVICES; ++i) NCCLCHECK(ncclCommFinalize(comms[i]));
  for (int i = 0; i < DEVICES; ++i) NCCLCHECK(ncclCommDestroy(comms[i]));
  printf("%d devices of one process: ok\n", DEVICES);
  return 0;
}
