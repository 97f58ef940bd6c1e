/*
 * One device per thread, with memory that is registered: ncclMemAlloc, ncclCommRegister, and windows where
 * nccl.h has them.
 *
 *   xylem-cc examples/nccl_threads.c -o threads && XYLEM_HOST_DEVICES=4 ./threads
 */
#include <cuda_runtime.h>
#include <nccl.h>
#include <pthread.h>

#include "check.h"

#define RANKS 4
#define COUNT 100000

static ncclUniqueId id;

static void* runRank(void* argument) {
  const int rank = *(int*)argument;
  const size_t bytes = COUNT * sizeof(float);
  ncclComm_t comm;
  cudaStream_t stream;
  void *send, *receive, *sendHandle, *receiveHandle;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 1;
  CUDACHECK(cudaSetDevice(rank));
  CUDACHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  NCCLCHECK(ncclCommInitRankConfig(&comm, RANKS, id, rank, &config));

  NCCLCHECK(ncclMemAlloc(&send, bytes));
  NCCLCHECK(ncclMemAlloc(&receive, bytes));
  NCCLCHECK(ncclCommRegister(comm, send, bytes, &sendHandle));
  NCCLCHECK(ncclCommRegister(comm, receive, bytes, &receiveHandle));
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  ncclWindow_t window;
  NCCLCHECK(ncclCommWindowRegister(comm, receive, bytes, &window, NCCL_WIN_COLL_SYMMETRIC));
#endif

#ifdef XYLEM_HAS_NCCL_QUERY_PROPERTIES
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  NCCLCHECK(ncclCommQueryProperties(comm, &properties));
  if (properties.rank != rank || properties.nRanks != RANKS) exit(1);
#endif

  /* The host fills this and the device reads it. */
  float *values, *onDevice;
  CUDACHECK(cudaHostAlloc((void**)&values, bytes, cudaHostAllocMapped));
  CUDACHECK(cudaHostGetDevicePointer((void**)&onDevice, values, 0));
  for (size_t i = 0; i < COUNT; ++i) values[i] = (float)(rank + 1);
  CUDACHECK(cudaMemcpyAsync(send, onDevice, bytes, cudaMemcpyDefault, stream));
  NCCLCHECK(ncclAllReduce(send, receive, COUNT, ncclFloat, ncclSum, comm, stream));
  CUDACHECK(cudaStreamSynchronize(stream));
  CUDACHECK(cudaFreeHost(values));
  EXPECT_ALL(receive, COUNT, 10.0f);

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  NCCLCHECK(ncclCommWindowDeregister(comm, window));
#endif
  NCCLCHECK(ncclCommDeregister(comm, sendHandle));
  NCCLCHECK(ncclCommDeregister(comm, receiveHandle));
  NCCLCHECK(ncclMemFree(send));
  NCCLCHECK(ncclMemFree(receive));
  CUDACHECK(cudaStreamDestroy(stream));
  NCCLCHECK(ncclCommFinalize(comm));
  NCCLCHECK(ncclCommDestroy(comm));
  return NULL;
}

int main(void) {
  requireDevices(RANKS);
  pthread_t threads[RANKS];
  int ranks[RANKS];
  NCCLCHECK(ncclGetUniqueId(&id));
  for (int i = 0; i < RANKS; ++i) {
    ranks[i] = i;
    if (pthread_create(&threads[i], NULL, runRank, &ranks[i]) != 0) return 1;
  }
  for (int i = 0; i < RANKS; ++i) pthread_join(threads[i], NULL);
  printf("%d threads, a device each: ok\n", RANKS);
  return 0;
}
