/*
 * The tables of NCCL's net and CollNet plugins, versions 6 to 12, for plugins that are compiled against NCCL's
 * installed headers. ncclNet_t and its kin are those of the version of NCCL that nccl.h names. The library loads any of
 * them (NCCL_NET_PLUGIN).
 *
 *   ncclNet_v10_t ncclNetPlugin_v10 = {"mine", init, devices, getProperties, listen, ...};
 *
 * A plugin is a shared library with such a table as data of that name. Calls of the data path return at once:
 * a null comm or request means "call again".
 */
#ifndef NCCL_NET_H_
#define NCCL_NET_H_

#include <stdint.h>

#include "nccl_common.h"

#define NCCL_NET_HANDLE_MAXSIZE 128
#define NCCL_PTR_HOST 0x1
#define NCCL_PTR_CUDA 0x2
#define NCCL_PTR_DMABUF 0x4
/* Requests of one connection that are under way at the same time, and the largest messages, in bytes. */
#define NCCL_NET_MAX_REQUESTS 32
#define MAX_NET_SIZE (1024 * 1024 * 1024L)
#define MAX_COLLNET_SIZE (512 * 1024 * 1024L)
/* In *request when irecv is called: the caller does not need to know when the receive is done. */
#define NCCL_NET_OPTIONAL_RECV_COMPLETION 0x1
#define NCCL_NET_MAX_DEVS_PER_NIC_V9 4
#define NCCL_NET_MAX_DEVS_PER_NIC_V12 8
#define NCCL_NET_MAX_DEVS_PER_NIC NCCL_NET_MAX_DEVS_PER_NIC_V9

/* Kinds: 0 start, which writes *event; 1 stop, 2 update, 3 update and stop. */
typedef ncclResult_t (*ncclProfilerCallback_t)(void** event, int kind, void* parent, int64_t pluginId,
                                               void* data);

typedef enum { NCCL_NET_DEVICE_HOST = 0, NCCL_NET_DEVICE_UNPACK = 1 } ncclNetDeviceType;
#define NCCL_NET_DEVICE_INVALID_VERSION 0x0
#define NCCL_NET_DEVICE_UNPACK_VERSION 0x7

typedef struct {
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
  void* handle;
  size_t size;
  int needsProxyProgress;
} ncclNetDeviceHandle_v7_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v8_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v9_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v10_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v11_t;
typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v12_t;

/* The properties of a device. speed: Mbit/s; latency: µs, 0: unknown; ptrSupport: bits NCCL_PTR_…; maxRecvs: the most buffers of one
 * irecv. Strings stay the plugin's. */
typedef struct {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
} ncclNetProperties_v6_t;
typedef struct {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
} ncclNetProperties_v7_t;
typedef struct {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
} ncclNetProperties_v8_t;

/* The devices that one virtual device stands for. */
typedef struct {
  int ndevs;
  int devs[NCCL_NET_MAX_DEVS_PER_NIC_V9];
} ncclNetVDeviceProps_v9_t;
typedef ncclNetVDeviceProps_v9_t ncclNetVDeviceProps_v10_t;
typedef ncclNetVDeviceProps_v9_t ncclNetVDeviceProps_v11_t;
typedef struct {
  int ndevs;
  int devs[NCCL_NET_MAX_DEVS_PER_NIC_V12];
} ncclNetVDeviceProps_v12_t;

/* The fields since version 9. */
#define XYLEM_NET_PROPERTIES(VIRTUAL) \
  char* name;                         \
  char* pciPath;                      \
  uint64_t guid;                      \
  int ptrSupport;                     \
  int regIsGlobal;                    \
  int forceFlush;                     \
  int speed;                          \
  int port;                           \
  float latency;                      \
  int maxComms;                       \
  int maxRecvs;                       \
  ncclNetDeviceType netDeviceType;    \
  int netDeviceVersion;               \
  VIRTUAL vProps;                     \
  size_t maxP2pBytes;                 \
  size_t maxCollBytes
typedef struct {
  XYLEM_NET_PROPERTIES(ncclNetVDeviceProps_v9_t);
} ncclNetProperties_v9_t;
typedef ncclNetProperties_v9_t ncclNetProperties_v10_t;
typedef struct {
  XYLEM_NET_PROPERTIES(ncclNetVDeviceProps_v11_t);
  int maxMultiRequestSize;
} ncclNetProperties_v11_t;
typedef struct {
  XYLEM_NET_PROPERTIES(ncclNetVDeviceProps_v12_t);
  int maxMultiRequestSize;
  int16_t railId;  /* -1: unknown */
  int16_t planeId; /* -1: unknown */
} ncclNetProperties_v12_t;
#undef XYLEM_NET_PROPERTIES

typedef struct {
  int trafficClass; /* -1: the network's default */
} ncclNetCommConfig_v10_t;
typedef ncclNetCommConfig_v10_t ncclNetCommConfig_v11_t;
typedef ncclNetCommConfig_v10_t ncclNetCommConfig_v12_t;

/* Properties of the next transfers. op, algo and proto are masks; all ones: unknown. */
typedef struct {
  int32_t maxConcurrentPeers, minConcurrentPeers, maxFlowsPerPeer, minFlowsPerPeer;
} ncclNetCommAttr_v11_t;
typedef struct {
  ncclNetCommAttr_v11_t sendCommAttr, recvCommAttr;
  uint32_t op, algo, proto;
} ncclNetAttr_v11_t;
typedef ncclNetCommAttr_v11_t ncclNetCommAttr_v12_t;
typedef ncclNetAttr_v11_t ncclNetAttr_v12_t;

/* A table: the parameters of functions that changed between versions, the types of sizes, and the functions at its end. */
#define XYLEM_NET_TABLE(VERSION, INIT, LISTEN, CONNECT, ACCEPT, REGISTERED, ISEND, IRECV, ...)               \
  typedef struct {                                                                                           \
    const char* name;                                                                                        \
    ncclResult_t(*init) INIT;                                                                                \
    ncclResult_t (*devices)(int* ndev);                                                                      \
    ncclResult_t (*getProperties)(int dev, ncclNetProperties_##VERSION##_t* props);                          \
    ncclResult_t(*listen) LISTEN;                                                                            \
    ncclResult_t(*connect) CONNECT;                                                                          \
    ncclResult_t(*accept) ACCEPT;                                                                            \
    ncclResult_t (*regMr)(void* comm, void* data, REGISTERED size, int type, void** mhandle);                \
    ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,      \
                                void** mhandle);                                                             \
    ncclResult_t (*deregMr)(void* comm, void* mhandle);                                                      \
    ncclResult_t(*isend) ISEND;                                                                              \
    ncclResult_t(*irecv) IRECV;                                                                              \
    ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request); \
    ncclResult_t (*test)(void* request, int* done, int* sizes);                                              \
    ncclResult_t (*closeSend)(void* sendComm);                                                               \
    ncclResult_t (*closeRecv)(void* recvComm);                                                               \
    ncclResult_t (*closeListen)(void* listenComm);                                                           \
    __VA_ARGS__                                                                                              \
  } ncclNet_##VERSION##_t

#define XYLEM_LISTEN (int dev, void* handle, void** listenComm)
#define XYLEM_LISTEN_IN (void* ctx, int dev, void* handle, void** listenComm)
#define XYLEM_ACCEPT(VERSION) \
  (void* listenComm, void** recvComm, ncclNetDeviceHandle_##VERSION##_t** recvDevComm)
#define XYLEM_CONNECT(VERSION) \
  (int dev, void* handle, void** sendComm, ncclNetDeviceHandle_##VERSION##_t** sendDevComm)
#define XYLEM_CONNECT_IN(VERSION) \
  (void* ctx, int dev, void* handle, void** sendComm, ncclNetDeviceHandle_##VERSION##_t** sendDevComm)
#define XYLEM_ISEND(SIZE) (void* sendComm, void* data, SIZE size, int tag, void* mhandle, void** request)
#define XYLEM_IRECV(SIZE) \
  (void* recvComm, int n, void** data, SIZE* sizes, int* tags, void** mhandles, void** request)
#define XYLEM_ISEND_PROFILED \
  (void* sendComm, void* data, size_t size, int tag, void* mhandle, void* phandle, void** request)
#define XYLEM_IRECV_PROFILED                                                                       \
  (void* recvComm, int n, void** data, size_t* sizes, int* tags, void** mhandles, void** phandles, \
   void** request)
#define XYLEM_FROM_7                                                           \
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle); \
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
#define XYLEM_FROM_9(VERSION) \
  XYLEM_FROM_7                \
  ncclResult_t (*makeVDevice)(int* d, ncclNetVDeviceProps_##VERSION##_t* props);
#define XYLEM_FROM_11(VERSION)         \
  XYLEM_FROM_9(VERSION)                \
  ncclResult_t (*finalize)(void* ctx); \
  ncclResult_t (*setNetAttr)(void* ctx, ncclNetAttr_##VERSION##_t* netAttr);

/* Version 7 added parameters and functions about devices that offload work, version 8 size_t for registered memory,
 * version 9 sizes of messages and virtual devices, version 10 events, version 11 a context per communicator. */
XYLEM_NET_TABLE(v6, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, (int dev, void* handle, void** sendComm),
                (void* listenComm, void** recvComm), int, XYLEM_ISEND(int), XYLEM_IRECV(int), );
XYLEM_NET_TABLE(v7, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, XYLEM_CONNECT(v7), XYLEM_ACCEPT(v7), int,
                XYLEM_ISEND(int), XYLEM_IRECV(int), XYLEM_FROM_7);
XYLEM_NET_TABLE(v8, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, XYLEM_CONNECT(v8), XYLEM_ACCEPT(v8),
                size_t, XYLEM_ISEND(int), XYLEM_IRECV(int), XYLEM_FROM_7);
XYLEM_NET_TABLE(v9, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, XYLEM_CONNECT(v9), XYLEM_ACCEPT(v9),
                size_t, XYLEM_ISEND(size_t), XYLEM_IRECV(size_t), XYLEM_FROM_9(v9));
XYLEM_NET_TABLE(v10, (ncclDebugLogger_t logFunction, ncclProfilerCallback_t profFunction), XYLEM_LISTEN,
                (int dev, ncclNetCommConfig_v10_t* config, void* handle, void** sendComm,
                 ncclNetDeviceHandle_v10_t** sendDevComm),
                XYLEM_ACCEPT(v10), size_t, XYLEM_ISEND_PROFILED, XYLEM_IRECV_PROFILED, XYLEM_FROM_9(v10));
XYLEM_NET_TABLE(v11,
                (void** ctx, uint64_t commId, ncclNetCommConfig_v11_t* config, ncclDebugLogger_t logFunction,
                 ncclProfilerCallback_t profFunction),
                XYLEM_LISTEN_IN, XYLEM_CONNECT_IN(v11), XYLEM_ACCEPT(v11), size_t, XYLEM_ISEND_PROFILED,
                XYLEM_IRECV_PROFILED, XYLEM_FROM_11(v11));
XYLEM_NET_TABLE(v12,
                (void** ctx, uint64_t commId, ncclNetCommConfig_v12_t* config, ncclDebugLogger_t logFunction,
                 ncclProfilerCallback_t profFunction),
                XYLEM_LISTEN_IN, XYLEM_CONNECT_IN(v12), XYLEM_ACCEPT(v12), size_t, XYLEM_ISEND_PROFILED,
                XYLEM_IRECV_PROFILED, XYLEM_FROM_11(v12));

/* A piece of memory of a gathering or scattering call. */
typedef struct {
  void* mhandle;
  void* address;
  uint32_t size;
} ncclNetSGE_v8_t;
typedef struct {
  void* mhandle;
  void* address;
  size_t size;
} ncclNetSGE_v9_t;
typedef ncclNetSGE_v9_t ncclNetSGE_v10_t;
typedef ncclNetSGE_v9_t ncclNetSGE_v11_t;
typedef ncclNetSGE_v9_t ncclNetSGE_v12_t;

#define XYLEM_COLLNET_TABLE(VERSION, INIT, LISTEN, REGISTERED, COUNT, MIDDLE, ...)                          \
  typedef struct {                                                                                          \
    const char* name;                                                                                       \
    ncclResult_t(*init) INIT;                                                                               \
    ncclResult_t (*devices)(int* ndev);                                                                     \
    ncclResult_t (*getProperties)(int dev, ncclNetProperties_##VERSION##_t* props);                         \
    ncclResult_t(*listen) LISTEN;                                                                           \
    ncclResult_t (*connect)(void* handles[], int nranks, int rank, void* listenComm, void** collComm);      \
    ncclResult_t (*reduceSupport)(ncclDataType_t dataType, ncclRedOp_t redOp, int* supported);              \
    ncclResult_t (*regMr)(void* collComm, void* data, REGISTERED size, int type, void** mhandle);           \
    ncclResult_t (*regMrDmaBuf)(void* collComm, void* data, size_t size, int type, uint64_t offset, int fd, \
                                void** mhandle);                                                            \
    ncclResult_t (*deregMr)(void* collComm, void* mhandle);                                                 \
    ncclResult_t (*iallreduce)(void* collComm, void* sendData, void* recvData, COUNT count,                 \
                               ncclDataType_t dataType, ncclRedOp_t redOp, void* sendMhandle,               \
                               void* recvMhandle, void** request);                                          \
    MIDDLE(VERSION)                                                                                         \
    ncclResult_t (*iflush)(void* collComm, void* data, int size, void* mhandle, void** request);            \
    ncclResult_t (*test)(void* request, int* done, int* size);                                              \
    ncclResult_t (*closeColl)(void* collComm);                                                              \
    ncclResult_t (*closeListen)(void* listenComm);                                                          \
    __VA_ARGS__                                                                                             \
  } ncclCollNet_##VERSION##_t
#define XYLEM_NO_PARTS(VERSION)
#define XYLEM_PARTS(VERSION)                                                                                \
  ncclResult_t (*iallgather)(void* collComm, void* sendData, int nRecvParts,                                \
                             ncclNetSGE_##VERSION##_t* recvParts, size_t bytesPerRank, size_t windowOffset, \
                             size_t windowBytes, void* sendMhandle, void** request);                        \
  ncclResult_t (*ireducescatter)(void* collComm, int nSendParts, ncclNetSGE_##VERSION##_t* sendParts,       \
                                 void* recvData, size_t bytesPerRank, size_t windowOffset,                  \
                                 size_t windowBytes, ncclDataType_t dataType, ncclRedOp_t redOp,            \
                                 void* recvMhandle, void** request);
#define XYLEM_COLLNET_FROM_9(VERSION) \
  ncclResult_t (*makeVDevice)(int* d, ncclNetVDeviceProps_##VERSION##_t* props);
#define XYLEM_COLLNET_FROM_11(VERSION) \
  XYLEM_COLLNET_FROM_9(VERSION)        \
  ncclResult_t (*finalize)(void* ctx);

XYLEM_COLLNET_TABLE(v6, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, int, int, XYLEM_NO_PARTS, );
XYLEM_COLLNET_TABLE(v7, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, int, int, XYLEM_NO_PARTS, );
XYLEM_COLLNET_TABLE(v8, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, size_t, int, XYLEM_PARTS, );
XYLEM_COLLNET_TABLE(v9, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, size_t, size_t, XYLEM_PARTS,
                    XYLEM_COLLNET_FROM_9(v9));
XYLEM_COLLNET_TABLE(v10, (ncclDebugLogger_t logFunction), XYLEM_LISTEN, size_t, size_t, XYLEM_PARTS,
                    XYLEM_COLLNET_FROM_9(v10));
XYLEM_COLLNET_TABLE(v11, (void** ctx, uint64_t commId, ncclDebugLogger_t logFunction), XYLEM_LISTEN_IN,
                    size_t, size_t, XYLEM_PARTS, XYLEM_COLLNET_FROM_11(v11));
XYLEM_COLLNET_TABLE(v12, (void** ctx, uint64_t commId, ncclDebugLogger_t logFunction), XYLEM_LISTEN_IN,
                    size_t, size_t, XYLEM_PARTS, XYLEM_COLLNET_FROM_11(v12));

#undef XYLEM_NET_TABLE
#undef XYLEM_LISTEN
#undef XYLEM_LISTEN_IN
#undef XYLEM_ACCEPT
#undef XYLEM_CONNECT
#undef XYLEM_CONNECT_IN
#undef XYLEM_ISEND
#undef XYLEM_IRECV
#undef XYLEM_ISEND_PROFILED
#undef XYLEM_IRECV_PROFILED
#undef XYLEM_FROM_7
#undef XYLEM_FROM_9
#undef XYLEM_FROM_11
#undef XYLEM_COLLNET_TABLE
#undef XYLEM_NO_PARTS
#undef XYLEM_PARTS
#undef XYLEM_COLLNET_FROM_9
#undef XYLEM_COLLNET_FROM_11

/* The names without a version are those of NCCL 2.27, as nccl.h has it. */
typedef ncclNet_v10_t ncclNet_t;
typedef ncclCollNet_v10_t ncclCollNet_t;
typedef ncclNetProperties_v10_t ncclNetProperties_t;
typedef ncclNetVDeviceProps_v10_t ncclNetVDeviceProps_t;
typedef ncclNetDeviceHandle_v10_t ncclNetDeviceHandle_t;
typedef ncclNetCommConfig_v10_t ncclNetCommConfig_t;
typedef ncclNetSGE_v10_t ncclNetSGE_t;
#define NCCL_NET_PLUGIN_SYMBOL ncclNetPlugin_v10
#define NCCL_COLLNET_PLUGIN_SYMBOL ncclCollNetPlugin_v10

#endif /* NCCL_NET_H_ */
