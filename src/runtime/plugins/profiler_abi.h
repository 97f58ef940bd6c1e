#pragma once
// The tables of NCCL's profiler plugins, versions 1 to 6, and how an event describes itself.

#include "runtime/plugins/abi.h"

namespace xylem::plugins::abi {

constexpr int kOldestProfiler = 1;
constexpr int kNewestProfiler = 6;
constexpr const char* kProfilerSymbol = "ncclProfiler_v";

// Kinds of events, bits of the mask.
enum ProfiledKind : int {
  kProfileGroup = 1,
  kProfileColl = 2,
  kProfileP2p = 4,
  kProfileProxyOp = 8,
  kProfileProxyStep = 16,
  kProfileProxyCtrl = 32,
  kProfileKernelCh = 64,  // from version 3 on
  // From version 5 on, in place of kProfileGroup: the calls of the program, which are the parents of others.
  kProfileGroupApi = 256,
  kProfileCollApi = 512,
  kProfileP2pApi = 1024
};

// States that recordEventState reports for events of the network.
enum ProfiledState : int {
  kProxyOpSendPosted = 0,
  kProxyOpSendTransmitted = 2,
  kProxyOpSendDone = 3,
  kProxyOpRecvPosted = 4,
  kProxyOpRecvReceived = 5,
  kProxyOpRecvTransmitted = 6,
  kProxyOpRecvDone = 7,
  kProxyStepSendGpuWait = 8,
  kProxyStepSendWait = 9,
  kProxyStepRecvWait = 10,
  kProxyStepRecvGpuWait = 12,
  kProxyCtrlIdle = 13,
  kProxyCtrlActive = 14,
  kProxyCtrlSleep = 15,
  kProxyCtrlWakeup = 16,
  kProxyOpInProgress = 19,  // from version 4 on, in place of the first eight
  kKernelChStop = 22,
  kGroupStartApiStop = 23,
  kGroupEndApiStart = 24
};
// The arguments of states of a ProxyOp: its progress.
struct ProxyOpProgress {
  std::size_t bytes;
  int steps;
};
static_assert(sizeof(ProxyOpProgress) == 16);
// The argument of kKernelChStop: the time, as in KernelChEventV4.
struct KernelChEnd {
  std::uint64_t pTimer;
};

struct CollEventV1 {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  std::uint8_t func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  std::uint8_t datatype;
  std::uint32_t op;
  std::size_t trafficBytes;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  std::uint8_t algo;
  std::uint8_t proto;
  int isCollnet;
  int isNvls;
};
struct P2pEventV1 {
  const char* name;
  std::uint64_t commHash;
  std::uint8_t func;
  void* buff;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};

// Version 2 has names instead of numbers.
struct CollEventV2 {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t trafficBytes;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct P2pEventV2 {
  const char* name;
  std::uint64_t commHash;
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
};

// Version 3 drops the bytes of a collective.
struct CollEventV3 {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};

// Version 4 tells the communicator in init.
struct CollEventV4 {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct P2pEventV4 {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
};

// Version 5 has the calls of the program beside what becomes of them. Version 6 adds events of copy engines.
struct CollEventV5 : CollEventV4 {
  void* parentGroup;
};
struct P2pEventV5 {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
  void* parentGroup;
};
struct GroupApiEvent {
  bool graphCaptured;
  int groupDepth;
};
struct CollApiEvent {
  const char* func;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
};
struct P2pApiEvent {
  const char* func;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
};

struct ProxyOpEvent {
  int pid;
  std::uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
};
struct ProxyStepEvent {
  int step;
};

// A call at work on a channel.
struct KernelChEvent {
  std::uint8_t channelId;
};
struct KernelChEventV4 {
  std::uint8_t channelId;
  std::uint64_t pTimer;  // of the beginning, in nanoseconds
};

template <typename Coll, typename P2p, typename KernelCh>
struct ProfiledEvent {
  std::uint8_t type;  // a ProfiledKind
  void* parentObj;    // the parent event, from startEvent
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOpEvent proxyOp;
    ProxyStepEvent proxyStep;
    KernelCh kernelCh;
  };
};
using ProfiledEventV1 = ProfiledEvent<CollEventV1, P2pEventV1, KernelChEvent>;
using ProfiledEventV2 = ProfiledEvent<CollEventV2, P2pEventV2, KernelChEvent>;
using ProfiledEventV3 = ProfiledEvent<CollEventV3, P2pEventV2, KernelChEvent>;
using ProfiledEventV4 = ProfiledEvent<CollEventV4, P2pEventV4, KernelChEventV4>;
struct ProfiledEventV5 {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    GroupApiEvent groupApi;
    CollApiEvent collApi;
    P2pApiEvent p2pApi;
    CollEventV5 coll;
    P2pEventV5 p2p;
    ProxyOpEvent proxyOp;
    ProxyStepEvent proxyStep;
    KernelChEventV4 kernelCh;
    std::byte others[104];  // the largest of version 6
  };
};
static_assert(offsetof(ProfiledEventV4, coll) == 24);
static_assert(offsetof(ProfiledEventV1, coll) == 24 && offsetof(ProfiledEventV2, coll) == 24);

// The table is the same in all versions but for init; events differ. The host owns `mask`; the plugin may write to
// it at any time.
using ProfilerInit = Result (*)(void** context, int* mask);
using ProfilerInitV4 = Result (*)(void** context, int* mask, const char* commName, std::uint64_t commHash,
                                  int nodes, int ranks, int rank, LogFunction log);
using ProfilerInitV5 = Result (*)(void** context, std::uint64_t commId, int* mask, const char* commName,
                                  int nodes, int ranks, int rank, LogFunction log);

template <typename Init>
struct ProfilerTable {
  const char* name;
  Init init;
  // May set the event to null: the plugin is not interested.
  Result (*startEvent)(void* context, void** event, void* description);
  Result (*stopEvent)(void* event);
  Result (*recordEventState)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};
using Profiler = ProfilerTable<ProfilerInit>;
using ProfilerV4 = ProfilerTable<ProfilerInitV4>;
using ProfilerV5 = ProfilerTable<ProfilerInitV5>;
static_assert(sizeof(Profiler) == 48);

}  // namespace xylem::plugins::abi
