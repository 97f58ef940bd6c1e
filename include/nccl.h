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
 * Functions return ncclSuccess or the kind of failure; ncclGetLastError returns a sentence that says what
 * happened. `xylem settings` lists every NCCL_* and XYLEM_* variable that is honoured.
 *
 * Every function has two names, ncclX and pncclX. The first is a weak alias of the second, so that a profiler
 * can define an ncclX of its own and call pncclX from it.
 *
 * Sizes are in bytes, counts in elements. Buffers may start at any address. Pointers to results must not be
 * null. Every function that takes a communicator returns ncclInvalidArgument for null, for a pointer to
 * something else, for a freed communicator, and while an earlier call on it is under way (not blocking, or in
 * a group); on a broken communicator it returns the failure that broke it. These are not repeated below.
 */
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* Xylem's headers lie beside this file. A copy of it, or a link to it, in another folder takes those that the
 * compiler finds. */
#ifdef __has_include
#if __has_include("host/cuda_runtime.h")
#define XYLEM_NCCL_HAS_HOST
#endif
#endif
#ifdef XYLEM_NCCL_HAS_HOST
#include "host/cuda_runtime.h"
#ifdef __cplusplus
#include "host/cuda_bf16.h"
#include "host/cuda_fp16.h"
#include "host/cuda_fp8.h"
#endif
#undef XYLEM_NCCL_HAS_HOST
#else
#include <cuda_runtime.h>
#ifdef __cplusplus
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif
#endif

#define NCCL_MAJOR 2
#define NCCL_MINOR 27
#define NCCL_PATCH 7
#define NCCL_SUFFIX ""

/* The version of the interface as one number: 22707. Version 2.28 would promise programs the functions that
 * kernels call on the device (nccl_device.h). The functions of 2.28 and 2.29 that make sense on a host are
 * here all the same, each with a macro that says so. */
#define NCCL_VERSION(X, Y, Z) (((X) > 2 || (Y) > 8) ? (X)*10000 + (Y)*100 + (Z) : (X)*1000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)

#define XYLEM_HAS_NCCL_ALLTOALL 1         /* 2.28 */
#define XYLEM_HAS_NCCL_GATHER 1           /* 2.28 */
#define XYLEM_HAS_NCCL_SCATTER 1          /* 2.28 */
#define XYLEM_HAS_NCCL_COMM_REVOKE 1      /* 2.28 */
#define XYLEM_HAS_NCCL_QUERY_PROPERTIES 1 /* 2.29 */
#define XYLEM_HAS_NCCL_COMM_GROW 1        /* 2.29 */
#define XYLEM_HAS_NCCL_COMM_SUSPEND 1     /* 2.29 */
#define XYLEM_HAS_NCCL_PARAM 1            /* 2.30 */

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* One rank's membership in a group of ranks. Calls on one communicator must not overlap each other. */
typedef struct ncclComm* ncclComm_t;
#define NCCL_COMM_NULL NULL

/* The ranks of a communicator find each other by it: it holds the address at which the first of them listens,
 * and a secret. A process that has it can join, so pass it over channels you trust. */
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1, /* a call to the device failed */
  ncclSystemError = 2,        /* a call to the operating system, a network or a plugin failed */
  ncclInternalError = 3,      /* a bug of the library */
  ncclInvalidArgument = 4,    /* an argument that cannot be used */
  ncclInvalidUsage = 5,       /* arguments or a set-up that do not fit together, often across ranks */
  ncclRemoteError = 6,        /* another rank is gone, silent or failed */
  ncclInProgress = 7,         /* not an error: still under way */
  ncclTimeout = 8,            /* code of a device waited too long; no function returns it here */
  ncclNumResults = 9
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

/* The options of a communicator. Start from NCCL_CONFIG_INITIALIZER and set the fields that matter:
 *
 *   ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
 *   config.blocking = 0;
 *   ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
 *
 * Fields that are not set have the defaults named here. */
typedef struct ncclConfig_v23000 {
  size_t size; /* size, magic and version are set by the initializer: leave them alone */
  unsigned int magic;
  unsigned int version;
  /* 1: calls return when they are done; 0: they return ncclInProgress, and ncclCommGetAsyncError tells when
   * they are done. Default 1. */
  int blocking;
  int cgaClusterSize; /* thread blocks of a GPU's cluster, 0 to 8; accepted, without effect on CPUs */
  int minCTAs;        /* least number of channels, from 1. Default: the plan's */
  int maxCTAs;        /* largest number of channels, from minCTAs. Default: the plan's */
  /* The network to use, by its name in NCCL_NET: Socket, OFI, or a plugin's. Default: the best one. */
  const char* netName;
  int splitShare;       /* 1: communicators split from this one use its resources. Default 0 */
  int trafficClass;     /* for networks with traffic classes, from 0. Default: the network's */
  const char* commName; /* for people: profilers get it */
  int collnetEnable;    /* 0 or 1: NCCL_COLLNET_ENABLE, where that is not set */
  int CTAPolicy; /* NCCL_CTA_POLICY_...; checked, without effect on CPUs, as are all below that say nothing */
  int shrinkShare;
  int nvlsCTAs;            /* 1 to 64: NCCL_NVLS_NCHANNELS, where that is not set */
  int nChannelsPerNetPeer; /* 1 to 64: NCCL_NCHANNELS_PER_NET_PEER, where that is not set. This and the next: 2.28's */
  int nvlinkCentricSched;
  int graphUsageMode; /* this one and the next: 2.29's. 0 to 2 */
  int numRmaCtx;      /* 0: without one-sided operations. Default 1 */
  int maxP2pPeers;    /* this one and the next: 2.30's */
  int graphStreamOrdering;
} ncclConfig_t;

#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02

/* The version is the one that has all of these fields. */
#define NCCL_CONFIG_INITIALIZER                                                                             \
  {                                                                                                         \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION(2, 30, 5), NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT,         \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,         \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,         \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT          \
  }

/* The answer of ncclGroupSimulateEnd. Start from NCCL_SIM_INFO_INITIALIZER. */
typedef struct ncclSimInfo_v22200 {
  size_t size; /* size, magic and version are set by the initializer: leave them alone */
  unsigned int magic;
  unsigned int version;
  float estimatedTime; /* microseconds; NCCL_UNDEF_FLOAT if unknown */
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

/* The color of a rank that is to be in none of the communicators that a split makes. */
#define NCCL_SPLIT_NOCOLOR -1

/* ---- The library -------------------------------------------------------------------------------------- */

/* Stores NCCL_VERSION_CODE. */
ncclResult_t ncclGetVersion(int* version);

/* A short description of a result code; never null. */
const char* ncclGetErrorString(ncclResult_t result);

/* Describes the last failure: of `comm` if it broke while running, otherwise of the calling thread, also where a function of
 * CUDA reported the failure of work in a stream. Empty if there was none. Valid until the next call on the thread or
 * communicator. `comm` may be null. */
const char* ncclGetLastError(ncclComm_t comm);

/* Reads the variables that control logging (NCCL_DEBUG and the like) again, for communicators created from
 * now on. Deprecated by NCCL. */
void ncclResetDebugInit(void);

/* ---- Communicators ------------------------------------------------------------------------------------ */

/* Stores a new id and starts listening at the address in it, on the interface that NCCL_SOCKET_IFNAME and
 * NCCL_SOCKET_FAMILY choose. With NCCL_COMM_ID=host:port set, the id is that address, and rank 0 listens
 * there in ncclCommInitRank. Each id is for one communicator. The calling process must live until all ranks
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

/* The same with `nId` ids, 1 to nranks, so that not all ranks connect to the same process. Every rank must
 * pass the same ids in the same order. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config);

/* Makes a communicator whose ranks are all in the calling process: comm[i] is rank i, on device devlist[i],
 * or i if `devlist` is null. `comm` points to `ndev` elements. ncclInvalidArgument: ndev below 1 or a device
 * that does not exist; ncclInvalidUsage: more ranks than devices, or a device twice. */
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

/* Makes new communicators out of the ranks of `comm`, all of which must call it: one for each color, its
 * ranks in the order of `key` and, for equal keys, of their rank in `comm`. Ranks with the color
 * NCCL_SPLIT_NOCOLOR get a null communicator. `config` null: that of `comm`. ncclInvalidArgument: any other
 * negative color, a configuration as above; ncclRemoteError: a rank failed or died. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);

/* Makes a communicator of the ranks of `comm` without the `excludeRanksCount` ranks in `excludeRanksList`, in
 * the same order. All other ranks must call it with the same list, those in the list must not. With
 * NCCL_SHRINK_DEFAULT, `comm` must not be broken, and nothing may be under way on it. With NCCL_SHRINK_ABORT
 * it may be broken, for instance because the ranks in the list died: it is revoked first. `config` null: that
 * of `comm`. ncclInvalidArgument: a rank that does not exist, is listed twice or is the caller's own, or
 * other flags; ncclRemoteError: one of the ranks that stay failed or died. */
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);

/* Ends the operations of `comm` without waiting for other ranks, which get ncclRemoteError. Returns when its
 * buffers are no longer used. From then on it can be split or shrunk (by the ranks that live), destroyed or
 * aborted; other calls return ncclInvalidUsage. ncclInvalidArgument: it was revoked before, or `revokeFlags` is
 * not NCCL_REVOKE_DEFAULT. Nothing happens if `comm` is null. */
#define NCCL_REVOKE_DEFAULT 0x00
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);

/* Waits until all operations issued on `comm` are done; all ranks must call it. From then on `comm` can only
 * be destroyed. ncclInvalidArgument: it was finalized before. Nothing happens if `comm` is null. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);

/* Finalizes `comm` if it was not finalized, and frees it; null is accepted. In a group, frees it at the end.
 */
ncclResult_t ncclCommDestroy(ncclComm_t comm);

/* Ends the operations of `comm` without waiting for other ranks, which get ncclRemoteError, and frees it;
 * null is accepted. This is the only call that is allowed while another thread is inside a call on `comm`. */
ncclResult_t ncclCommAbort(ncclComm_t comm);

/* Stores ncclSuccess; ncclInProgress while a call on a communicator that does not block is under way; or the
 * failure that broke the communicator (ncclRemoteError if a rank died), or that ended a one-sided operation. A broken
 * communicator can only be destroyed, aborted, or shrunk with NCCL_SHRINK_ABORT. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

/* The number of ranks, the device of this rank, and its number; also for a broken communicator. */
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);

/* The properties of a communicator. Start from NCCL_COMM_PROPERTIES_INITIALIZER. */
typedef struct ncclCommProperties_v22900 {
  size_t size; /* size, magic and version are set by the initializer: leave them alone */
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;           /* the same; there is no NVML */
  char deviceApiSupport; /* 0: kernels cannot communicate, as there are none */
  char multimemSupport;  /* 0 */
  /* Since 2.29.4. How kernels reach other nodes: 0, not at all. */
  int ginType;
  int nLsaTeams;       /* groups of ranks that reach each other's memory: the hosts */
  char hostRmaSupport; /* 1: ncclPutSignal, ncclSignal and ncclWaitSignal work */
  int railedGinType;   /* 0 */
} ncclCommProperties_t;

/* The version is one that has all of these fields. */
#define NCCL_COMM_PROPERTIES_INITIALIZER \
  { sizeof(ncclCommProperties_t), 0xcafebeef, NCCL_VERSION(2, 30, 5), -1, -1, -1, -1, 0, 0, 0, 0, 0, 0 }

/* ncclInvalidUsage: `properties` without its initializer. */
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties);

/* Device communicators, with which kernels of the program communicate themselves. There are none here, as deviceApiSupport says:
 * the first returns ncclInvalidUsage, and the second does nothing. Programs that only may use them find both. */
struct ncclDevCommRequirements;
struct ncclDevComm;
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const struct ncclDevCommRequirements* reqs,
                               struct ncclDevComm* outDevComm);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const struct ncclDevComm* devComm);

/* Makes a communicator of the ranks of `comm`, which keep their numbers, and of new ones. One rank of `comm`, the
 * coordinator, gets an id from ncclCommGetUniqueId and passes it to the new processes. Then all call ncclCommGrow
 * with the number of ranks that the new communicator has: ranks of `comm` with rank -1, and only the coordinator
 * with the id, others with null; new ranks with a null `comm`, the id, and a rank from the old number on. `comm`
 * stays as it is. `config` null: that of `comm`, or the defaults. ncclInvalidArgument: nranks not above the old
 * number, a rank of `comm` with another rank than -1, a new rank without an id or out of range;
 * ncclInvalidUsage: not exactly one rank of `comm` has an id. */
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config);

/* Announce that `comm` will not be used for a while, and that it will be again; all ranks must call them. They wait
 * for all ranks and free nothing: host devices have no memory that could be rebuilt. `flags`:
 * NCCL_SUSPEND_MEM; without it nothing happens. */
#define NCCL_SUSPEND_MEM 0x01
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);

/* Stores how many bytes could be freed (0), or whether `comm` is suspended (0 or 1). ncclInvalidUsage for the other
 * two: host devices do not count the memory of a communicator. */
typedef enum {
  ncclStatGpuMemSuspend = 0,
  ncclStatGpuMemSuspended = 1,
  ncclStatGpuMemPersist = 2,
  ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);

/* ---- Memory ------------------------------------------------------------------------------------------- */

/* Allocates at least `size` bytes of memory of the current device, which other ranks of this host can map;
 * `*ptr` is null if `size` is 0. ncclSystemError: not that much memory. */
ncclResult_t ncclMemAlloc(void** ptr, size_t size);

/* Frees memory of ncclMemAlloc, which no operation may use any more; null is accepted.
 * ncclInvalidArgument: anything else. */
ncclResult_t ncclMemFree(void* ptr);

/* Announces that `size` bytes at `buff` will be used by operations of `comm` until ncclCommDeregister is
 * called with the handle stored here. ncclInvalidArgument: null, size 0, past the end of the address space.
 */
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);

/* Ends a registration. Null is accepted. ncclInvalidArgument: not a handle of `comm`, or used before. */
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);

/* Registers memory that all ranks use for the same purpose as a window: all ranks must call it, with the same
 * size. Ranks on one host map each other's memory without that, so that only one-sided operations need windows.
 * `winFlags` is NCCL_WIN_DEFAULT or NCCL_WIN_COLL_SYMMETRIC: collectives use the same offset in the window on
 * every rank. ncclInvalidArgument: null, size 0, past the end of the address space, other flags. */
typedef struct ncclWindow_vidmem* ncclWindow_t;
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_STRICT_ORDERING 0x02    /* of the network; makes no difference */
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096 /* of NCCL; not required here */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags);

/* Ends a window; all ranks must call it. Null is accepted. ncclInvalidArgument: not a window of `comm`. */
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);

/* The address at which a window was registered, and the address of `offset` bytes behind it, as this rank can use it:
 * that of its own rank, null for other ranks. A rank is alone in its team of ranks that reach each other's windows.
 * There is no memory of several devices at once: null. ncclInvalidArgument: not a window, no such rank. */
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank, void** outPtr);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void** outPtr);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** outPtr);
typedef struct {
  void* mcBasePtr;
} ncclMultimemHandle_t;
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset, ncclMultimemHandle_t multimem,
                                          void** outPtr);

/* Operations of one rank on the memory of another one, which takes no part, in the order of a stream. The first one on a
 * communicator waits until all ranks have made one, in a group at its end.
 *
 * ncclPutSignal copies into the window of `peer` that it registered as this rank did `peerWin`, from `peerWinOffset` (in
 * bytes) on, and then signals; `localbuff` lies in a symmetric window of this rank. ncclSignal signals alone.
 * ncclWaitSignal holds the stream until, of each rank named, `opCnt` more signals have come than earlier waits took. In a
 * graph it waits for signals of graphs, otherwise for those of calls. Waiting for a rank that has left fails.
 *
 *   ncclWindow_t window;
 *   ncclCommWindowRegister(comm, receive, 2 * count * sizeof(float), &window, NCCL_WIN_COLL_SYMMETRIC);
 *   ncclPutSignal(receive, count, ncclFloat, (rank + 1) % ranks, window, count * sizeof(float), 0, 0, 0, comm, stream);
 *   ncclWaitSignalDesc_t one = {1, (rank + ranks - 1) % ranks, 0, 0};
 *   ncclWaitSignal(1, &one, comm, stream);
 *
 * ncclInvalidArgument: a communicator of several hosts, of GPUs, or with numRmaCtx 0 has no such operations; sigIdx, ctx or
 * flags other than 0; no such rank or window. A put that does not fit into the peer's window fails in the stream, and so
 * does one into memory that is not of ncclMemAlloc or cudaMalloc, if the peer is another process. */
typedef struct {
  int opCnt; /* from 1 */
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream);

/* ---- Operations of the program ------------------------------------------------------------------------ */

/* Makes an operation that multiplies each rank's own elements by `*scalar`, an element of type `datatype`,
 * and sums them up. It is for that type and communicator only. Ranks may pass different scalars.
 * ncclInvalidArgument: a null scalar, an unknown type or an unknown `residence`. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);

/* Frees an operation; collectives that were issued with it are not affected. Its number may be used again.
 * ncclInvalidArgument: not such an operation of `comm`, or freed before. */
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* ---- Collectives -------------------------------------------------------------------------------------- */

/* Each enqueues its work on `stream` and returns. All ranks of `comm` must call it, with the same count,
 * type, operation and root, and issue their collectives in the same order. Count 0 does nothing. Buffers must
 * not overlap, except in place, as described at each function. Every rank gets bit-identical results.
 *
 * ncclInvalidArgument: a null or overlapping buffer with count > 0, an unknown type or operation, a root that
 * is no rank, a count whose bytes do not fit into a size_t; ncclInvalidUsage: `comm` was finalized. */

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
 * way round. The sends of a rank to a peer match that peer's receives in order. Calls that need each other to
 * finish, such as the two of an exchange, must be in one group. A rank may send to itself within a group.
 * ncclInvalidArgument: a null buffer with count > 0, an unknown type, a peer that is no rank, a count whose
 * bytes do not fit into a size_t; ncclInvalidUsage: `comm` was finalized. */
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);

/* ---- Groups ------------------------------------------------------------------------------------------- */

/* Calls between ncclGroupStart and ncclGroupEnd, on one thread, are one operation: none of them starts before
 * the end, and they may run at the same time, so none may read what another one writes. One thread can serve
 * several ranks this way. Groups may be nested; the outermost end counts. A group may have collectives, ncclSend
 * and ncclRecv, or ncclCommInitRank, ncclCommSplit, ncclCommFinalize and the like, but not calls of both kinds. */
ncclResult_t ncclGroupStart(void);

/* Starts the calls of the group. If one of them failed, starts none and returns the result of that call.
 * ncclInvalidUsage: no group was started, or calls of both kinds are in it; ncclInvalidArgument: some of the
 * communicators block and some do not. */
ncclResult_t ncclGroupEnd(void);

/* Ends the group without starting its calls, and stores how long they would have taken in `simInfo`, unless
 * that is null. ncclInvalidArgument: simInfo without its initializer; ncclInvalidUsage: no group was started.
 */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo);

/* ---- Parameters --------------------------------------------------------------------------------------- */

/* The variables that `xylem settings` lists, by their names, as they are set now. Numbers are of type int64_t, all
 * others are texts, which are valid until the thread's next such call. A handle is valid for ever.
 * ncclInvalidArgument: null, no such variable, another type, or `maxLen` too small. */
typedef struct ncclParamHandle* ncclParamHandle_t;
ncclResult_t ncclParamBind(ncclParamHandle_t* out, const char* key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t* out);
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t* out);
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t* out);
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t* out);
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t* out);
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t* out);
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t* out);
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t* out);
ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char** out);
/* The bytes of the value, a text with its final null, and their number. */
ncclResult_t ncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len);
/* Any value as text, all names, and a print of all. */
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen);
ncclResult_t ncclParamDumpAll(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

/* The second names: pncclX for each ncclX. */
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* The functions of which the ncclX are weak aliases. */
ncclResult_t pncclGetVersion(int* version);
const char* pncclGetErrorString(ncclResult_t result);
const char* pncclGetLastError(ncclComm_t comm);
void pncclResetDebugInit(void);
ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId);
ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                     ncclConfig_t* config);
ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                       ncclUniqueId* commIds, ncclConfig_t* config);
ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);
ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t pncclCommFinalize(ncclComm_t comm);
ncclResult_t pncclCommDestroy(ncclComm_t comm);
ncclResult_t pncclCommAbort(ncclComm_t comm);
ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);
ncclResult_t pncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank);
ncclResult_t pncclMemAlloc(void** ptr, size_t size);
ncclResult_t pncclMemFree(void* ptr);
ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle);
ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                     int winFlags);
ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags);
ncclResult_t pncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                             ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);
ncclResult_t pncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties);
ncclResult_t pncclDevCommCreate(ncclComm_t comm, const struct ncclDevCommRequirements* reqs,
                                struct ncclDevComm* outDevComm);
ncclResult_t pncclDevCommDestroy(ncclComm_t comm, const struct ncclDevComm* devComm);
ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                       ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream);
ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                            ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t pncclGroupStart(void);
ncclResult_t pncclGroupEnd(void);
ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo);
ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
ncclResult_t pncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId* uniqueId, int rank,
                           ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t pncclCommResume(ncclComm_t comm);
ncclResult_t pncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);
ncclResult_t pncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
ncclResult_t pncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank, void** outPtr);
ncclResult_t pncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void** outPtr);
ncclResult_t pncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** outPtr);
ncclResult_t pncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset, ncclMultimemHandle_t multimem,
                                           void** outPtr);
ncclResult_t pncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                            unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                         cudaStream_t stream);
ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                             cudaStream_t stream);
ncclResult_t pncclParamBind(ncclParamHandle_t* out, const char* key);
ncclResult_t pncclParamGetI8(ncclParamHandle_t handle, int8_t* out);
ncclResult_t pncclParamGetI16(ncclParamHandle_t handle, int16_t* out);
ncclResult_t pncclParamGetI32(ncclParamHandle_t handle, int32_t* out);
ncclResult_t pncclParamGetI64(ncclParamHandle_t handle, int64_t* out);
ncclResult_t pncclParamGetU8(ncclParamHandle_t handle, uint8_t* out);
ncclResult_t pncclParamGetU16(ncclParamHandle_t handle, uint16_t* out);
ncclResult_t pncclParamGetU32(ncclParamHandle_t handle, uint32_t* out);
ncclResult_t pncclParamGetU64(ncclParamHandle_t handle, uint64_t* out);
ncclResult_t pncclParamGetStr(ncclParamHandle_t handle, const char** out);
ncclResult_t pncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len);
ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen);
ncclResult_t pncclParamDumpAll(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* NCCL_H_ */
