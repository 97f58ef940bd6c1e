/*
 * The tables of NCCL's profiler plugins, versions 1 to 6 (NCCL_PROFILER_PLUGIN), and their events.
 *
 *   ncclProfiler_v4_t ncclProfiler_v4 = {"mine", init, startEvent, stopEvent, recordEventState, finalize};
 *
 * A plugin is a shared library with such a table as data of that name. init is called for each communicator and gets the address of a
 * mask of the process: the kinds of events that the plugin wants, which it may change at any time. startEvent gives an event, or null if
 * the plugin is not interested in this one.
 */
#ifndef NCCL_PROFILER_H_
#define NCCL_PROFILER_H_

#include <stdbool.h>
#include <sys/types.h>

#include "nccl_common.h"

/* Kinds of events, bits of the mask. */
enum {
  ncclProfileGroup = 1,
  ncclProfileColl = 2,
  ncclProfileP2p = 4,
  ncclProfileProxyOp = 8,
  ncclProfileProxyStep = 16,
  ncclProfileProxyCtrl = 32,
  ncclProfileKernelCh = 64, /* from version 3 on */
  ncclProfileNetPlugin = 128,
  /* From version 5 on: the calls of the program, which are the parents of others. */
  ncclProfileGroupApi = 256,
  ncclProfileCollApi = 512,
  ncclProfileP2pApi = 1024
};

/* States that recordEventState reports. */
typedef enum {
  ncclProfilerProxyOpSendPosted = 0,
  ncclProfilerProxyOpSendTransmitted = 2,
  ncclProfilerProxyOpSendDone = 3,
  ncclProfilerProxyOpRecvPosted = 4,
  ncclProfilerProxyOpRecvReceived = 5,
  ncclProfilerProxyOpRecvTransmitted = 6,
  ncclProfilerProxyOpRecvDone = 7,
  ncclProfilerProxyStepSendGPUWait = 8,
  ncclProfilerProxyStepSendWait = 9,
  ncclProfilerProxyStepRecvWait = 10,
  ncclProfilerProxyStepRecvGPUWait = 12,
  ncclProfilerProxyCtrlIdle = 13,
  ncclProfilerProxyCtrlActive = 14,
  ncclProfilerProxyCtrlSleep = 15,
  ncclProfilerProxyCtrlWakeup = 16,
  ncclProfilerProxyOpInProgress_v4 = 19, /* from version 4 on, in place of the first seven */
  ncclProfilerKernelChStop = 22,
  ncclProfilerGroupStartApiStop = 23,
  ncclProfilerGroupEndApiStart = 24
} ncclProfilerEventState_t;
typedef ncclProfilerEventState_t ncclProfilerEventState_v1_t;
typedef ncclProfilerEventState_t ncclProfilerEventState_v2_t;
typedef ncclProfilerEventState_t ncclProfilerEventState_v3_t;
typedef ncclProfilerEventState_t ncclProfilerEventState_v4_t;
typedef ncclProfilerEventState_t ncclProfilerEventState_v5_t;
typedef ncclProfilerEventState_t ncclProfilerEventState_v6_t;

/* The arguments of a state: the progress of a ProxyOp before version 4, and where a call ends on a channel the time in nanoseconds.
 * They may be null. */
typedef union {
  struct {
    size_t transSize;
    int steps;
  } proxyOp;
  struct {
    uint64_t pTimer;
  } kernelCh;
} ncclProfilerEventStateArgs_t;
typedef ncclProfilerEventStateArgs_t ncclProfilerEventStateArgs_v1_t;
typedef ncclProfilerEventStateArgs_t ncclProfilerEventStateArgs_v2_t;
typedef ncclProfilerEventStateArgs_t ncclProfilerEventStateArgs_v3_t;
typedef ncclProfilerEventStateArgs_t ncclProfilerEventStateArgs_v4_t;
typedef ncclProfilerEventStateArgs_t ncclProfilerEventStateArgs_v5_t;
typedef ncclProfilerEventStateArgs_t ncclProfilerEventStateArgs_v6_t;

/* The descriptions of events. Version 1 has numbers in place of names; from version 4 on init says which communicator it is. parentObj:
 * the parent event, from startEvent. */
typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash;
      uint64_t seqNumber;
      uint8_t func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      uint8_t datatype;
      uint32_t op;
      size_t trafficBytes;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      uint8_t algo;
      uint8_t proto;
      int isCollnet;
      int isNvls;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      uint8_t func;
      void* buff;
      uint8_t datatype;
      size_t count;
      int peer;
    } p2p;
    struct {
      pid_t pid;
      uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
  };
} ncclProfilerEventDescr_v1_t;
typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash;
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      size_t trafficBytes;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
    } p2p;
    struct {
      pid_t pid;
      uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
  };
} ncclProfilerEventDescr_v2_t;
typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash;
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
    } p2p;
    struct {
      pid_t pid;
      uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
    struct {
      uint8_t channelId;
    } kernelCh;
  };
} ncclProfilerEventDescr_v3_t;
typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
    } p2p;
    struct {
      pid_t pid;
      uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
    struct {
      uint8_t channelId;
      uint64_t pTimer;
    } kernelCh;
  };
} ncclProfilerEventDescr_v4_t;
typedef struct {
  uint64_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      bool graphCaptured;
      int groupDepth;
    } groupApi;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graphCaptured;
    } collApi;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      void* stream;
      bool graphCaptured;
    } p2pApi;
    struct {
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
      void* parentGroup;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
      void* parentGroup;
    } p2p;
    struct {
      pid_t pid;
      uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
    struct {
      uint8_t channelId;
      uint64_t pTimer;
    } kernelCh;
    unsigned char reserved[104]; /* other events of version 6 */
  };
} ncclProfilerEventDescr_v5_t;
typedef ncclProfilerEventDescr_v5_t ncclProfilerEventDescr_v6_t;

typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, int* mask);
  ncclResult_t (*startEvent)(void* context, void** event, ncclProfilerEventDescr_v1_t* descr);
  ncclResult_t (*stopEvent)(void* event);
  ncclResult_t (*recordEventState)(void* event, ncclProfilerEventState_v1_t state,
                                   ncclProfilerEventStateArgs_v1_t* args);
  ncclResult_t (*finalize)(void* context);
} ncclProfiler_v1_t;
typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, int* mask);
  ncclResult_t (*startEvent)(void* context, void** event, ncclProfilerEventDescr_v2_t* descr);
  ncclResult_t (*stopEvent)(void* event);
  ncclResult_t (*recordEventState)(void* event, ncclProfilerEventState_v2_t state,
                                   ncclProfilerEventStateArgs_v2_t* args);
  ncclResult_t (*finalize)(void* context);
} ncclProfiler_v2_t;
typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, int* mask);
  ncclResult_t (*startEvent)(void* context, void** event, ncclProfilerEventDescr_v3_t* descr);
  ncclResult_t (*stopEvent)(void* event);
  ncclResult_t (*recordEventState)(void* event, ncclProfilerEventState_v3_t state,
                                   ncclProfilerEventStateArgs_v3_t* args);
  ncclResult_t (*finalize)(void* context);
} ncclProfiler_v3_t;
typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, int* mask, const char* commName, uint64_t commHash, int nodes,
                       int ranks, int rank, ncclDebugLogger_t log);
  ncclResult_t (*startEvent)(void* context, void** event, ncclProfilerEventDescr_v4_t* descr);
  ncclResult_t (*stopEvent)(void* event);
  ncclResult_t (*recordEventState)(void* event, ncclProfilerEventState_v4_t state,
                                   ncclProfilerEventStateArgs_v4_t* args);
  ncclResult_t (*finalize)(void* context);
} ncclProfiler_v4_t;
typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, int* mask, const char* commName, int nodes, int ranks,
                       int rank, ncclDebugLogger_t log);
  ncclResult_t (*startEvent)(void* context, void** event, ncclProfilerEventDescr_v5_t* descr);
  ncclResult_t (*stopEvent)(void* event);
  ncclResult_t (*recordEventState)(void* event, ncclProfilerEventState_v5_t state,
                                   ncclProfilerEventStateArgs_v5_t* args);
  ncclResult_t (*finalize)(void* context);
} ncclProfiler_v5_t;
typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, int* mask, const char* commName, int nodes, int ranks,
                       int rank, ncclDebugLogger_t log);
  ncclResult_t (*startEvent)(void* context, void** event, ncclProfilerEventDescr_v6_t* descr);
  ncclResult_t (*stopEvent)(void* event);
  ncclResult_t (*recordEventState)(void* event, ncclProfilerEventState_v6_t state,
                                   ncclProfilerEventStateArgs_v6_t* args);
  ncclResult_t (*finalize)(void* context);
} ncclProfiler_v6_t;

#endif /* NCCL_PROFILER_H_ */
