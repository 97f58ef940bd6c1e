/*
 * Xylem's collective communication, under NCCL 2.27's names and numbers: a program written for NCCL compiles
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
 *
 * Every function exists twice, as ncclX and as pncclX. The first is a weak name of the second, so that a
 * profiler can define an ncclX of its own and call pncclX from it.
 *
 * Sizes are in bytes, counts in elements. Buffers may start at any address. Pointers to results must not be
 * null, and every function that takes a communicator returns ncclInvalidArgument for null, for a pointer that
 * is not one, for one that was freed and while an earlier call on it is under way (not blocking, or in a
 * group); one that broke returns what broke it. These are not repeated below.
 */
#ifndef XYLEM_NCCL_H_
#define XYLEM_NCCL_H_

#include <limits.h>
#include <stddef.h>

#include "host/cuda_runtime.h"
#ifdef __cplusplus
#include "host/cuda_bf16.h"
#include "host/cuda_fp16.h"
#include "host/cuda_fp8.h"
#endif

#define NCCL_MAJOR 2
#define NCCL_MINOR 27
#define NCCL_PATCH 7
#define NCCL_SUFFIX ""

/* The version of the interface as one number: 22707. It is not 2.28, which would promise
 * programs the functions that their kernels call on the device (nccl_device.h); those of 2.28 and 2.29 that
 * make sense on a host are here all the same, each with a macro that says so. */
#define NCCL_VERSION(X, Y, Z) (((X) > 2 || (Y) > 8) ? (X)*10000 + (Y)*100 + (Z) : (X)*1000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)

#define XYLEM_HAS_NCCL_ALLTOALL 1         /* 2.28 */
#define XYLEM_HAS_NCCL_GATHER 1           /* 2.28 */
#define XYLEM_HAS_NCCL_SCATTER 1          /* 2.28 */
#define XYLEM_HAS_NCCL_COMM_REVOKE 1      /* 2.28 */
#define XYLEM_HAS_NCCL_QUERY_PROPERTIES 1 /* 2.29 */

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

/* How elements are combined: one of these five, or what ncclRedOpCreatePreMulSum made. */
typedef enum {
  ncclSum = 0,  /* integers wrap around */
  ncclProd = 1, /* integers wrap around */
  ncclMax = 2,  /* a number wins over NaN */
  ncclMin = 3,
  ncclAvg =
      4, /* integers: the wrapped sum divided by the ranks, towards zero; others: each input times 1/ranks */
  ncclNumOps = 5,           /* numbers from here on are operations that the program made */
  ncclMaxRedOp = 0x7fffffff /* the largest of them */
} ncclRedOp_t;

/* Where the scalar of an operation lies and when it is read. */
typedef enum {
  ncclScalarDevice = 0,       /* in device memory, read each time that a collective with it runs */
  ncclScalarHostImmediate = 1 /* in host memory, read before the call that makes the operation returns */
} ncclScalarResidence_t;

/* ---- Configuration ------------------------------------------------------------------------------------ */

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT -1.0f

/* How a communicator shall behave. Start from NCCL_CONFIG_INITIALIZER and set the fields that matter:
 *
 *   ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
 *   config.blocking = 0;
 *   ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
 *
 * Fields left alone get the values named here. */
typedef struct ncclConfig_v22800 {
  size_t size; /* size, magic and version: the initializer's, not to be touched */
  unsigned int magic;
  unsigned int version;
  /* 1: calls return when they are done; 0: they return ncclInProgress, and ncclCommGetAsyncError tells when
   * they are. Default 1. */
  int blocking;
  int cgaClusterSize; /* thread blocks of a GPU's cluster, 0 to 8; accepted, without effect on CPUs */
  int minCTAs;        /* channels to use at least, from 1. Default: the plan's */
  int maxCTAs;        /* channels to use at most, not below minCTAs. Default: the plan's */
  /* The network to use, as NCCL_NET names it: Socket, OFI, or a plugin's. Default: the best there is. */
  const char* netName;
  int splitShare;       /* 1: communicators split from this one use its resources. Default 0 */
  int trafficClass;     /* for networks that know such a thing, from 0. Default: the network's */
  const char* commName; /* for people; accepted, without effect */
  int collnetEnable;    /* 0 or 1; accepted, without effect on CPUs, as all that follow */
  int CTAPolicy;
  int shrinkShare; /* 1: communicators made by ncclCommShrink use this one's resources */
  int nvlsCTAs;
  int nChannelsPerNetPeer; /* this one and the next: 2.28's */
  int nvlinkCentricSched;
} ncclConfig_t;

#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02

#define NCCL_CONFIG_INITIALIZER                                                                        \
  {                                                                                                    \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT,    \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,    \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT     \
  }

/* What ncclGroupSimulateEnd tells. Start from NCCL_SIM_INFO_INITIALIZER. */
typedef struct ncclSimInfo_v22200 {
  size_t size; /* size, magic and version: the initializer's, not to be touched */
  unsigned int magic;
  unsigned int version;
  float estimatedTime; /* microseconds; NCCL_UNDEF_FLOAT if unknown */
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

/* The color of a rank that will be in none of the communicators that a split makes. */
#define NCCL_SPLIT_NOCOLOR -1

/* ---- The library -------------------------------------------------------------------------------------- */

/* Stores NCCL_VERSION_CODE. */
ncclResult_t ncclGetVersion(int* version);

/* A few words for a result code; never null. */
const char* ncclGetErrorString(ncclResult_t result);

/* The sentence of the last failure: of `comm` if it broke while running, else of the calling thread. Empty if
 * there was none. Valid until the next call on the thread or communicator. `comm` may be null. */
const char* ncclGetLastError(ncclComm_t comm);

/* Reads the variables that say what is logged (NCCL_DEBUG and the like) again, for communicators made from
 * now on. Deprecated by NCCL. */
void ncclResetDebugInit(void);

/* ---- Communicators ------------------------------------------------------------------------------------ */

/* Stores a new id and starts listening at the address in it, on the interface that NCCL_SOCKET_IFNAME and
 * NCCL_SOCKET_FAMILY choose. With NCCL_COMM_ID=host:port set, the id is that address, and rank 0 listens
 * there in ncclCommInitRank. One id makes one communicator. The calling process must live until all ranks
 * have joined. ncclInvalidUsage: no such interface or address; ncclSystemError: no socket. */
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);

/* Joins a communicator of `nranks` ranks as rank `rank` (0 to nranks-1, each once), for the calling thread's
 * current device; returns when all ranks have joined. Every rank must call it, from its own thread or
 * process or all within one group, within XYLEM_TIMEOUT seconds of the first. ncclInvalidArgument: a rank out
 * of range, not an id; ncclInvalidUsage: the ranks contradict each other (one rank twice, different nranks);
 * ncclRemoteError: a rank is missing, failed or died: the text names it. */
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);

/* The same with a configuration; null means the defaults. With blocking 0, stores the communicator, returns
 * ncclInProgress, and joins meanwhile: ncclCommGetAsyncError tells when it is done. ncclInvalidArgument also:
 * a configuration without its initializer or with a field out of range. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config);

/* The same with `nId` ids, 1 to nranks, so that not all ranks meet at one place. Every rank must pass the
 * same ids in the same order. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config);

/* Makes a communicator whose ranks are all in the calling process: comm[i] is rank i, on device devlist[i],
 * or i if `devlist` is null. `comm` has room for `ndev`. ncclInvalidArgument: ndev below 1 or a device that
 * does not exist; ncclInvalidUsage: more ranks than devices, or a device twice. */
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

/* Makes new communicators out of the ranks of `comm`, all of which must call it: one for each color, its
 * ranks in the order of `key` and, where that is equal, of their rank in `comm`. Ranks with the color
 * NCCL_SPLIT_NOCOLOR get a null communicator. `config` null: that of `comm`. ncclInvalidArgument: any other
 * negative color, a configuration as above; ncclRemoteError: a rank failed or died. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);

/* Makes a communicator of the ranks of `comm` but for the `excludeRanksCount` ranks in `excludeRanksList`, in
 * the same order. All others must call it with the same list, those in it must not. With
 * NCCL_SHRINK_DEFAULT, `comm` must not have broken, and nothing may be under way on it; with
 * NCCL_SHRINK_ABORT it may have, for instance because those in the list died: it is revoked first.
 * `config` null: that of `comm`. ncclInvalidArgument: a rank that is none, twice or the caller's own, or other
 * flags; ncclRemoteError: one of the ranks that stay failed or died. */
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);

/* Ends what `comm` is doing without waiting for other ranks, which get ncclRemoteError. Returns when its
 * buffers are no longer used. From then on it can be split or shrunk (by those that live), destroyed or
 * aborted; everything else is ncclInvalidUsage. `revokeFlags` is NCCL_REVOKE_DEFAULT, or it is
 * ncclInvalidArgument. */
#define NCCL_REVOKE_DEFAULT 0x00
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);

/* Waits until everything issued on `comm` is done; all ranks must call it. From then on it can only be
 * destroyed. ncclInvalidArgument: was finalized before. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);

/* Finalizes `comm` if that was not done, and frees it; null is accepted. In a group it is freed at the end.
 */
ncclResult_t ncclCommDestroy(ncclComm_t comm);

/* Ends what `comm` is doing without waiting for other ranks, which get ncclRemoteError, and frees it; null is
 * accepted. The one call that may be made while another thread is inside a call on `comm`. */
ncclResult_t ncclCommAbort(ncclComm_t comm);

/* Stores ncclSuccess; ncclInProgress while a call on a communicator that does not block is under way; or what
 * broke the communicator (ncclRemoteError if a rank died). A broken one can only be destroyed or aborted. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

/* The number of ranks, the device it was made on, and this rank's number; also of one that broke. */
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);

/* What a communicator is. Start from NCCL_COMM_PROPERTIES_INITIALIZER. */
typedef struct ncclCommProperties_v22900 {
  size_t size; /* size, magic and version: the initializer's, not to be touched */
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;           /* the same; there is no NVML */
  char deviceApiSupport; /* 0: kernels cannot communicate, as there are none */
  char multimemSupport;  /* 0 */
} ncclCommProperties_t;

#define NCCL_COMM_PROPERTIES_INITIALIZER \
  { sizeof(ncclCommProperties_t), 0xcafebeef, NCCL_VERSION_CODE, -1, -1, -1, -1, 0, 0 }

/* ncclInvalidArgument: `properties` without its initializer. */
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties);

/* ---- Memory ------------------------------------------------------------------------------------------- */

/* Memory of the current device that other ranks of this machine can reach: at least `size` bytes.
 * ncclInvalidArgument: size 0; ncclSystemError: not that much memory. */
ncclResult_t ncclMemAlloc(void** ptr, size_t size);

/* Gives back what ncclMemAlloc gave, once no operation uses it any more; null is accepted.
 * ncclInvalidArgument: anything else. */
ncclResult_t ncclMemFree(void* ptr);

/* Announces that `size` bytes at `buff` will be used by operations of `comm` until ncclCommDeregister is
 * called with the handle stored here. ncclInvalidArgument: null, size 0, past the end of the address space.
 */
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);

/* Takes that back. Null is accepted. ncclInvalidArgument: not a handle of `comm`, or used before. */
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);

/* Announces memory that all ranks use for the same, as a window onto it: all ranks must call it, with the
 * same size. Ranks on one host reach each other's memory without that, so that a window is but a handle.
 * `winFlags` is NCCL_WIN_DEFAULT or NCCL_WIN_COLL_SYMMETRIC: collectives use the same offset in the window on
 * every rank. ncclInvalidArgument: null, size 0, past the end of the address space, other flags. */
typedef struct ncclWindow_vidmem* ncclWindow_t;
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096 /* of NCCL; not required here */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags);

/* Takes that back; all ranks must call it. Null is accepted. ncclInvalidArgument: not a window of `comm`. */
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);

/* ---- Operations of the program ------------------------------------------------------------------------ */

/* Makes an operation that multiplies each rank's own elements by `*scalar`, an element of type `datatype`,
 * and sums them up. It is for that type and communicator only. Ranks may pass different scalars.
 * ncclInvalidArgument: a null scalar, an unknown type or residence. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);

/* Frees it; collectives that were issued with it are not affected. Its number may be given out again.
 * ncclInvalidArgument: not such an operation of `comm`, or freed before. */
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* ---- Collectives -------------------------------------------------------------------------------------- */

/* Each enqueues its work on `stream` and returns. All ranks of `comm` must call it, with the same count,
 * type, operation and root, and issue their collectives in the same order. Count 0 does nothing. Buffers must
 * not overlap, except in place as each says. Every rank gets bit-identical results.
 *
 * ncclInvalidArgument: a null or overlapping buffer with count > 0, an unknown type or operation, a root that
 * is no rank, a count whose bytes do not fit into a size_t; ncclInvalidUsage: finalized before. */

/* Combines the `count` elements at `sendbuff` of all ranks and stores the result at `recvbuff` of rank
 * `root`; other ranks may pass a null `recvbuff`. In place: recvbuff == sendbuff. */
ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);

/* Copies `count` elements at `buff` of rank `root` to `buff` of all ranks. */
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream);

/* Copies `count` elements at `sendbuff` of rank `root` to `recvbuff` of all ranks; other ranks may pass a
 * null `sendbuff`. In place: recvbuff == sendbuff. */
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream);

/* Combines the `count` elements at `sendbuff` of all ranks, element by element, and stores the result at
 * `recvbuff` of every rank. In place: recvbuff == sendbuff. */
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);

/* Combines the ranks * recvcount elements at `sendbuff` of all ranks and stores block r of the result, of
 * `recvcount` elements, at `recvbuff` of rank r. In place: recvbuff == sendbuff + rank * recvcount. */
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);

/* Stores the `sendcount` elements at `sendbuff` of rank r as block r of the ranks * sendcount elements at
 * `recvbuff` of every rank. In place: sendbuff == recvbuff + rank * sendcount. */
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream);

/* Sends block r of the ranks * count elements at `sendbuff` to rank r, and stores what rank r sent as block r
 * at `recvbuff`. Not in place. */
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          ncclComm_t comm, cudaStream_t stream);

/* Stores the `count` elements at `sendbuff` of rank r as block r at `recvbuff` of rank `root`; other ranks
 * may pass a null `recvbuff`. In place: sendbuff == recvbuff + root * count. */
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream);

/* Stores block r of the ranks * count elements at `sendbuff` of rank `root` at `recvbuff` of rank r; other
 * ranks may pass a null `sendbuff`. In place: recvbuff == sendbuff + root * count. */
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream);

/* ---- Between two ranks -------------------------------------------------------------------------------- */

/* Sends `count` elements to rank `peer`, which must call ncclRecv with the same count and type, and the other
 * way round. The sends of a rank to a peer are matched with that peer's receives in order. Several that need
 * each other to finish, such as an exchange, must be in one group. A rank may send to itself within a group.
 * ncclInvalidArgument: a null buffer with count > 0, an unknown type, a peer that is no rank, a count whose
 * bytes do not fit into a size_t; ncclInvalidUsage: finalized before. */
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);

/* ---- Groups ------------------------------------------------------------------------------------------- */

/* Calls between ncclGroupStart and ncclGroupEnd, on one thread, are one operation: nothing of it starts
 * before the end, and what is in it may happen at the same time. One thread can so serve several ranks.
 * Groups may be nested; the outermost end counts. Collectives, ncclSend and ncclRecv can be in one group, and
 * so can ncclCommInitRank, ncclCommSplit, ncclCommFinalize and the like, but not both kinds. */
ncclResult_t ncclGroupStart(void);

/* Starts what is in the group. If a call in it failed, starts nothing and returns what that call returned.
 * ncclInvalidUsage: without a start, or both kinds of calls in the group; ncclInvalidArgument: communicators
 * that block and such that do not. */
ncclResult_t ncclGroupEnd(void);

/* Ends the group without doing anything of it, and stores how long it would have taken in `simInfo`, unless
 * that is null. ncclInvalidArgument: simInfo without its initializer; ncclInvalidUsage: without a start. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

/* The names behind the names: pncclX for each ncclX. */
#include "host/xylem_pnccl.h"

#endif /* XYLEM_NCCL_H_ */
