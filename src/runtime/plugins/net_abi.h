#pragma once
// The tables of NCCL's net plugins, versions 6 to 12, as types that depend on the version. Each version adds
// functions at the end of the one before and widens some parameters.
//
//   auto* table = static_cast<const abi::Net<8>*>(dlsym(library, "ncclNetPlugin_v8"));
//   table->connect(device, handle, &sender, nullptr);
//
// A plugin can be written in C++ with the same types: NCCL takes the addresses of objects named
// ncclNetPlugin_v8 and the like.

#include <cstdint>
#include <type_traits>

#include "runtime/plugins/abi.h"

namespace xylem::plugins::abi {

constexpr int kOldestNet = 6;
constexpr int kNewestNet = 12;
constexpr std::size_t kHandleBytes = 128;
// Largest messages in bytes: of plugins whose sizes are ints, and the most that any plugin may claim.
constexpr std::size_t kMaxBytesBeforeV9 = std::size_t{1} << 30;
constexpr std::size_t kMaxReducedBytesBeforeV9 = std::size_t{1} << 29;
constexpr std::size_t kMaxBytes = std::size_t{1} << 40;
// Bounds of what a plugin may say of its devices: more is garbage.
constexpr int kMaxDevices = 1024;
constexpr std::size_t kMaxDeviceName = 255;
constexpr int kMaxSpeed = 1'000'000'000;  // Mbit/s
// In *request when irecv is called, from version 9 on: the caller does not need to know when the receive is
// done.
constexpr std::uintptr_t kOptionalCompletion = 1;
// Types of net devices; all others move data from the GPU.
constexpr int kHostNetDevice = 0;

struct PropertiesV6 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
};
static_assert(sizeof(PropertiesV6) == 48);

struct PropertiesV7 : PropertiesV6 {
  int netDeviceType;
  int netDeviceVersion;
};
static_assert(sizeof(PropertiesV7) == 56);

struct PropertiesV8 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
};
static_assert(sizeof(PropertiesV8) == 64);

struct VirtualDevice {
  int ndevs;
  int devs[4];
};

struct PropertiesV9 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  VirtualDevice vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
};
static_assert(sizeof(PropertiesV9) == 104 && offsetof(PropertiesV9, vProps) == 64);

struct PropertiesV11 : PropertiesV9 {
  int maxMultiRequestSize;
};
static_assert(sizeof(PropertiesV11) == 112);

struct VirtualDeviceV12 {
  int ndevs;
  int devs[8];
};

struct PropertiesV12 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  VirtualDeviceV12 vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
  int maxMultiRequestSize;
  std::int16_t railId;
  std::int16_t planeId;
};
static_assert(sizeof(PropertiesV12) == 128 && offsetof(PropertiesV12, maxP2pBytes) == 104);

template <int V>
using Properties = std::conditional_t<
    (V >= 12), PropertiesV12,
    std::conditional_t<
        (V == 11), PropertiesV11,
        std::conditional_t<(V >= 9), PropertiesV9,
                           std::conditional_t<(V == 8), PropertiesV8,
                                              std::conditional_t<(V == 7), PropertiesV7, PropertiesV6>>>>>;
template <int V>
using Virtual = std::conditional_t<(V >= 12), VirtualDeviceV12, VirtualDevice>;

struct DeviceHandle {
  int netDeviceType;
  int netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};

struct CommConfig {
  int trafficClass;  // -1: the network's default
};

// The kinds of the next operations (masks, all ones: unknown) and the number of their peers.
struct CommAttributes {
  std::int32_t maxConcurrentPeers, minConcurrentPeers, maxFlowsPerPeer, minFlowsPerPeer;
};
struct NetAttributes {
  CommAttributes send, receive;
  std::uint32_t operations, algorithms, protocols;
};

// Types of parameters and functions that changed between versions. From version 11 on, init makes a context for
// each communicator, which others take first.
template <int V>
struct NetTypes {
  using RegisteredSize = std::conditional_t<(V >= 8), std::size_t, int>;
  using Size = std::conditional_t<(V >= 9), std::size_t, int>;
  using Init = std::conditional_t<
      (V >= 11), Result (*)(void**, std::uint64_t, CommConfig*, LogFunction, ProfileFunction),
      std::conditional_t<(V >= 10), Result (*)(LogFunction, ProfileFunction), Result (*)(LogFunction)>>;
  using Listen =
      std::conditional_t<(V >= 11), Result (*)(void*, int, void*, void**), Result (*)(int, void*, void**)>;
  using Connect = std::conditional_t<
      (V >= 11), Result (*)(void*, int, void*, void**, DeviceHandle**),
      std::conditional_t<(V >= 10), Result (*)(int, CommConfig*, void*, void**, DeviceHandle**),
                         std::conditional_t<(V >= 7), Result (*)(int, void*, void**, DeviceHandle**),
                                            Result (*)(int, void*, void**)>>>;
  using Accept =
      std::conditional_t<(V >= 7), Result (*)(void*, void**, DeviceHandle**), Result (*)(void*, void**)>;
  using Isend = std::conditional_t<(V >= 10), Result (*)(void*, void*, Size, int, void*, void*, void**),
                                   Result (*)(void*, void*, Size, int, void*, void**)>;
  using Irecv =
      std::conditional_t<(V >= 10), Result (*)(void*, int, void**, Size*, int*, void**, void**, void**),
                         Result (*)(void*, int, void**, Size*, int*, void**, void**)>;
};

// Functions after those that all versions have; any of them may be null.
template <int V, int kTail = (V >= 11  ? 11
                              : V >= 9 ? 9
                              : V >= 7 ? 7
                                       : 6)>
struct NetTail {};
template <int V>
struct NetTail<V, 7> {
  Result (*getDeviceMr)(void* comm, void* mhandle, void** deviceMhandle);
  Result (*irecvConsumed)(void* recvComm, int n, void* request);
};
template <int V>
struct NetTail<V, 9> : NetTail<V, 7> {
  Result (*makeVDevice)(int* device, Virtual<V>* properties);
};
template <int V>
struct NetTail<V, 11> : NetTail<V, 9> {
  Result (*finalize)(void* context);
  Result (*setNetAttr)(void* context, NetAttributes* attributes);
};

template <int V>
struct Net {
  static_assert(V >= kOldestNet && V <= kNewestNet);
  const char* name;
  typename NetTypes<V>::Init init;
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, Properties<V>* properties);
  typename NetTypes<V>::Listen listen;
  typename NetTypes<V>::Connect connect;
  typename NetTypes<V>::Accept accept;
  Result (*regMr)(void* comm, void* data, typename NetTypes<V>::RegisteredSize size, int type,
                  void** mhandle);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                        void** mhandle);
  Result (*deregMr)(void* comm, void* mhandle);
  typename NetTypes<V>::Isend isend;
  typename NetTypes<V>::Irecv irecv;
  Result (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
  [[no_unique_address]] NetTail<V> tail;
};
static_assert(sizeof(Net<6>) == 136 && sizeof(Net<7>) == 152 && sizeof(Net<8>) == 152);
static_assert(sizeof(Net<9>) == 160 && sizeof(Net<10>) == 160);
static_assert(sizeof(Net<11>) == 176 && sizeof(Net<12>) == 176);

}  // namespace xylem::plugins::abi
