/*
 * One device per MPI process: rank 0 makes the id, MPI hands it out.
 *
 *   XYLEM_CC=mpicc xylem-cc examples/mpi_all_reduce.c -o mpi_all_reduce
 *   mpirun -n 4 ./mpi_all_reduce
 */
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include "check.h"

#define COUNT 100000

int main(int argc, char** argv) {
  int rank, ranks, localRank;
  MPI_Comm host;
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &localRank);

  ncclUniqueId id;
  if (rank == 0) NCCLCHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);

  ncclComm_t comm;
  cudaStream_t stream;
  float *send, *receive, values[COUNT];
  CUDACHECK(cudaSetDevice(localRank));
  CUDACHECK(cudaStreamCreate(&stream));
  CUDACHECK(cudaMalloc((void**)&send, sizeof values));
  CUDACHECK(cudaMalloc((void**)&receive, sizeof values));
  for (size_t i = 0; i < COUNT; ++i) values[i] = (float)(rank + 1);
  CUDACHECK(cudaMemcpy(send, values, sizeof values, cudaMemcpyHostToDevice));
  NCCLCHECK(ncclCommInitRank(&comm, ranks, id, rank));
  NCCLCHECK(ncclAllReduce(send, receive, COUNT, ncclFloat, ncclSum, comm, stream));
  CUDACHECK(cudaStreamSynchronize(stream));
  EXPECT_ALL(receive, COUNT, (float)(ranks * (ranks + 1) / 2));

  CUDACHECK(cudaFree(send));
  CUDACHECK(cudaFree(receive));
  CUDACHECK(cudaStreamDestroy(stream));
  NCCLCHECK(ncclCommDestroy(comm));
  MPI_Comm_free(&host);
  MPI_Finalize();
  if (rank == 0) printf("%d processes: ok\n", ranks);
  return 0;
}
