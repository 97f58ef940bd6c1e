#pragma once
// The tables of NCCL's profiler plugins, versions 1 and 2, and how an event describes itself.

#include "runtime/plugins/abi.h"

namespace xylem::abi {

constexpr int kOldestProfiler = 1;
constexpr int kNewestProfiler = 2;
constexpr const char* kProfilerSymbol = "ncclProfiler_v";

// Kinds of events, bits of the mask.
enum ProfiledKind : int {
  kProfileGroup = 1,
  kProfileColl = 2,
  kProfileP2p = 4,
  kProfileProxyOp = 8,
  kProfileProxyStep = 16,
  kProfileProxyCtrl = 32
};

// What recordEventState says of an event of the proxy.
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
  kProxyCtrlWakeup = 16
};
// Beside it, for states of a ProxyOp: so far.
struct ProxyOpProgress {
  std::size_t bytes;
  int steps;
};
static_assert(sizeof(ProxyOpProgress) == 16);

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

// Names instead of numbers.
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

template <typename Coll, typename P2p>
struct ProfiledEvent {
  std::uint8_t type;  // one ProfiledKind
  void* parentObj;    // what startEvent gave for it
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOpEvent proxyOp;
    ProxyStepEvent proxyStep;
  };
};
using ProfiledEventV1 = ProfiledEvent<CollEventV1, P2pEventV1>;
using ProfiledEventV2 = ProfiledEvent<CollEventV2, P2pEventV2>;
static_assert(offsetof(ProfiledEventV1, coll) == 24 && offsetof(ProfiledEventV2, coll) == 24);

// All versions have these; only what an event looks like differs.
struct Profiler {
  const char* name;
  // The host keeps `mask`; the plugin may write through the pointer as long as it lives.
  Result (*init)(void** context, int* mask);
  // A null event: it is not interested.
  Result (*startEvent)(void* context, void** event, void* description);
  Result (*stopEvent)(void* event);
  Result (*recordEventState)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};
static_assert(sizeof(Profiler) == 48);

}  // namespace xylem::abi
