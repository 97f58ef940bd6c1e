/*
 * Xylem's collective communication, under NCCL 2.25's names and numbers: a program written for NCCL compiles
 * with this header and runs on plain CPUs.
 *
 *   ncclUniqueId id;                                  // on one rank; then pass it to all by any means
 *   ncclGetUniqueId(&id);
 *   ncclComm_t comm;                                  // on every rank
 *   ncclCommInitRank(&comm, ranks, id, rank);
 *   ncclAllReduce(send, receive, count, ncclFloat, ncclSum, comm, stream);
 *   cudaStreamSynchronize(stream);
 *   ncclCommDestroy(comm);
 *
 * Functions return ncclSuccess or the kind of failure; ncclGetLastError has the sentence that says what
 * happened. Variables: `xylem settings` lists every NCCL_* and XYLEM_* variable that is honoured.
 */
#ifndef XYLEM_NCCL_H_
#define XYLEM_NCCL_H_

#include <stddef.h>

#include "host/cuda_runtime.h"

#define NCCL_MAJOR 2
#define NCCL_MINOR 25
#define NCCL_PATCH 1
#define NCCL_SUFFIX ""

/* The version of the interface as one number: 22501. */
#define NCCL_VERSION(X, Y, Z) (((X) > 2 || (Y) > 8) ? (X)*10000 + (Y)*100 + (Z) : (X)*1000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* One rank's membership in a group of ranks. Calls on one communicator must not overlap each other. */
typedef struct ncclComm* ncclComm_t;
#define NCCL_COMM_NULL NULL

/* What the ranks of a communicator need to find each other: where the first of them listens, and a secret.
 * Whoever has it can join, so pass it over channels you trust. */
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1, /* a call to the device failed */
  ncclSystemError = 2,        /* a call to the operating system failed */
  ncclInternalError = 3,      /* a bug of the library */
  ncclInvalidArgument = 4,    /* an argument that cannot be used */
  ncclInvalidUsage = 5,       /* arguments or a set-up that do not fit together, often across ranks */
  ncclRemoteError = 6,        /* another rank is gone, silent or failed */
  ncclInProgress = 7,         /* not an error: still under way */
  ncclNumResults = 8
} ncclResult_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10, /* finite values and NaN only; results that are too large become +-448 */
  ncclFloat8e5m2 = 11, /* results that are too large become +-57344 */
  ncclNumTypes = 12
} ncclDataType_t;

typedef enum {
  ncclSum = 0,  /* integers wrap around */
  ncclProd = 1, /* integers wrap around */
  ncclMax = 2,  /* a number wins over NaN */
  ncclMin = 3,
  ncclAvg =
      4, /* integers: the wrapped sum divided by the ranks, towards zero; others: each input times 1/ranks */
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

/* Stores NCCL_VERSION_CODE. ncclInvalidArgument: `version` is null. */
ncclResult_t ncclGetVersion(int* version);

/* Stores a new id and starts listening at the address in it, on the interface that NCCL_SOCKET_IFNAME and
 * NCCL_SOCKET_FAMILY choose. With NCCL_COMM_ID=host:port set, the id is that address, and rank 0 listens
 * there in ncclCommInitRank. One id makes one communicator. The calling process must live until all ranks
 * have joined. ncclInvalidArgument: null; ncclInvalidUsage: no such interface or address; ncclSystemError: no
 * socket. */
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);

/* Joins a communicator of `nranks` ranks as rank `rank` (0 to nranks-1, each once), for the calling thread's
 * current device; returns when all ranks have joined. Every rank must call it, from its own thread or
 * process, within XYLEM_TIMEOUT seconds of the first. ncclInvalidArgument: null, a rank out of range, not an
 * id; ncclInvalidUsage: the ranks contradict each other (one rank twice, different nranks); ncclRemoteError:
 * a rank is missing, failed or died: the text names it. */
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);

/* Frees a communicator after its operations have finished; null is accepted. */
ncclResult_t ncclCommDestroy(ncclComm_t comm);

/* The number of ranks, this one's number among them, and the device it was made on.
 * ncclInvalidArgument: a null pointer or not a communicator. */
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);

/* Stores ncclSuccess, or what broke the communicator while an operation was running (ncclRemoteError if a
 * rank died). A broken communicator can only be destroyed. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

/* A few words for a result code; never null. */
const char* ncclGetErrorString(ncclResult_t result);

/* The sentence of the last failure: of `comm` if it broke while running, else of the calling thread. Empty if
 * there was none. Valid until the next call on the thread or communicator. `comm` may be null. */
const char* ncclGetLastError(ncclComm_t comm);

/* Combines `count` elements of `sendbuff` of all ranks, element by element, and stores the result in
 * `recvbuff` of every rank. Enqueues the work on `stream` and returns. `recvbuff` may equal `sendbuff` (in
 * place) but not overlap it otherwise. All ranks must pass the same count, type and op. Every rank gets
 * bit-identical results. ncclInvalidArgument: a null pointer with count > 0, unknown type or op, not a
 * communicator, overlapping buffers, misaligned pointers; ncclRemoteError and others: what broke the
 * communicator before. */
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* XYLEM_NCCL_H_ */
