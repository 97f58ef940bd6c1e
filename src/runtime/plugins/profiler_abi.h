#pragma once
// The tables of NCCL's profiler plugins, versions 1 and 2, and how an event describes itself.

#include "runtime/plugins/abi.h"

namespace xylem::plugins::abi {

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
  kProxyCtrlWakeup = 16
};
// The arguments of states of a ProxyOp: its progress.
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
  std::uint8_t type;  // a ProfiledKind
  void* parentObj;    // the parent event, from startEvent
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

// The table is the same in all versions; events differ.
struct Profiler {
  const char* name;
  // The host owns `mask`; the plugin may write to it at any time.
  Result (*init)(void** context, int* mask);
  // May set the event to null: the plugin is not interested.
  Result (*startEvent)(void* context, void** event, void* description);
  Result (*stopEvent)(void* event);
  Result (*recordEventState)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};
static_assert(sizeof(Profiler) == 48);

}  // namespace xylem::plugins::abi
