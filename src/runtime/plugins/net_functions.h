#pragma once
// The functions of a net plugin, whatever its version: a thin layer that passes parameters as the plugin's
// version wants them.
//
//   std::unique_ptr<NetFunctions> net = netFunctions(8, dlsym(library, "ncclNetPlugin_v8"));
//   if (net->init(pluginLog(log), {}, context) == abi::kSuccess && net->missing().empty()) ...
//
// Results and out-parameters are the plugin's; those that a plugin may leave unwritten are set before the
// call.

#include <algorithm>
#include <climits>
#include <memory>
#include <span>
#include <string>

#include "runtime/plugins/net_abi.h"
#include "runtime/transport/net/network.h"

namespace xylem::plugins {

// For whom a plugin works.
struct NetUser {
  std::uint64_t communicator = 0;  // the same on all of its ranks; 0: no communicator
  int trafficClass = -1;           // of its messages; -1: the network's default
};

class NetFunctions {
 public:
  virtual ~NetFunctions() = default;
  virtual int version() const = 0;
  // Valid before init; empty if the plugin has none.
  virtual std::string name() const = 0;
  // Whether the plugin has a context for each user (from version 11 on). Then init() comes once for each and gives it; otherwise it comes
  // once, and contexts are null.
  virtual bool hasContexts() const = 0;
  virtual abi::Result init(abi::LogFunction log, const NetUser& user, void*& context) = 0;
  // Ends a context, after all that was made with it.
  virtual void finalize(void* context) = 0;
  // A function that is needed and missing, or nothing. Some plugins fill their table only in init.
  virtual std::string missing() const = 0;
  virtual abi::Result devices(int& count) = 0;
  // `deviceType`: abi::kHostNetDevice, or one that moves data from the GPU.
  virtual abi::Result properties(int device, transport::NetProperties& properties, int& deviceType) = 0;

  virtual abi::Result listen(void* context, int device, transport::NetHandle& handle, void*& comm) = 0;
  // Call it with the same handle memory until it gives a comm. Version 10 hears here of the user's traffic class.
  virtual abi::Result connect(void* context, const NetUser& user, int device, transport::NetHandle& handle,
                              void*& comm) = 0;
  virtual abi::Result accept(void* listening, void*& comm) = 0;
  virtual abi::Result registerMemory(void* comm, void* data, std::size_t bytes, int kind, void*& memory) = 0;
  // Memory of a GPU by its DMA-BUF, which the caller closes afterwards.
  virtual abi::Result registerDmaBuf(void* comm, void* data, std::size_t bytes, int dmaBuf,
                                     void*& memory) = 0;
  virtual abi::Result deregisterMemory(void* comm, void* memory) = 0;
  virtual abi::Result isend(void* comm, void* data, std::size_t bytes, int tag, void* memory,
                            void*& request) = 0;
  virtual abi::Result irecv(void* comm, std::span<const transport::NetBuffer> buffers, void*& request) = 0;
  virtual abi::Result iflush(void* comm, std::span<const transport::NetBuffer> buffers, void*& request) = 0;
  // `sizes`: one for a send, one per buffer for a receive; null if the caller does not want them.
  virtual abi::Result test(void* request, bool& done, int* sizes) = 0;
  virtual abi::Result closeSend(void* comm) = 0;
  virtual abi::Result closeReceive(void* comm) = 0;
  virtual abi::Result closeListen(void* comm) = 0;
};

// Buffers of one irecv; NCCL's plugins take up to eight.
constexpr std::size_t kMaxBuffers = 8;

// `table`: the object under the library's symbol of that version.
std::unique_ptr<NetFunctions> netFunctions(int version, void* table);

// Makes a tag that is small and not negative, as plugins put tags into few bits. Step numbers of a queue grow
// for ever, but only the steps under way at one time must differ.
constexpr int pluginTag(std::uint32_t tag) { return static_cast<int>(tag & 0x7fff); }

// For which kind of data readProperties() reads the largest size.
enum class Carries { kMessages, kReductions };

// More than the properties of any version: some plugins write more than their version has.
constexpr std::size_t kPropertyBytes = 256;

inline std::string textOf(const char* text) { return text == nullptr ? "" : text; }

inline unsigned pointersOf(int bits) {
  return (bits & abi::kPtrHost ? transport::kHostPointer : 0u) |
         (bits & abi::kPtrCuda ? transport::kCudaPointer : 0u) |
         (bits & abi::kPtrDmaBuf ? transport::kDmaBufPointer : 0u);
}

// Reads what a plugin of any version says about a device. `deviceType`: abi::kHostNetDevice, or one that
// moves data from the GPU.
template <int V>
abi::Result readProperties(abi::Result (*get)(int, abi::Properties<V>*), int device, Carries what,
                           transport::NetProperties& properties, int& deviceType) {
  union {
    abi::Properties<V> read;
    std::byte bytes[kPropertyBytes];
  } raw{.bytes = {}};
  const abi::Result result = get(device, &raw.read);
  if (result != abi::kSuccess) return result;
  const auto& read = raw.read;
  const bool reduces = what == Carries::kReductions;
  properties = {.name = textOf(read.name),
                .pciPath = textOf(read.pciPath),
                .guid = read.guid,
                .speed = read.speed,
                .port = read.port,
                .latency = read.latency,
                .maxLinks = read.maxComms > 0 ? read.maxComms : INT_MAX,
                .maxReceives = std::max(read.maxRecvs, 1),
                .pointers = pointersOf(read.ptrSupport),
                .needsRegistration = true,
                .maxBytes = reduces ? abi::kMaxReducedBytesBeforeV9 : abi::kMaxBytesBeforeV9};
  deviceType = abi::kHostNetDevice;
  if constexpr (V >= 7) deviceType = read.netDeviceType;
  if constexpr (V >= 8) properties.registrationIsGlobal = read.regIsGlobal != 0;
  if constexpr (V >= 9) {
    properties.forceFlush = read.forceFlush != 0;
    properties.maxBytes = reduces ? read.maxCollBytes : read.maxP2pBytes;
  }
  return result;
}

// Throws if no device of `plugin` can have these properties.
void checkProperties(const std::string& plugin, int device, Carries what,
                     const transport::NetProperties& properties);
// The same for the number of devices.
void checkDeviceCount(const std::string& plugin, int devices);

}  // namespace xylem::plugins
