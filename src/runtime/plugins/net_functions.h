#pragma once
// The functions of a net plugin, whatever its version: a thin layer that hands parameters over as the
// plugin's version wants them.
//
//   std::unique_ptr<NetFunctions> net = netFunctions(8, dlsym(library, "ncclNetPlugin_v8"));
//   if (net->init(&pluginLog) == 0 && net->missing().empty()) ...
//
// Results and out-parameters are the plugin's; what a plugin may leave unwritten is preset.

#include <memory>
#include <span>

#include "runtime/plugins/net_abi.h"
#include "runtime/transport/net/network.h"

namespace xylem {

class NetFunctions {
 public:
  virtual ~NetFunctions() = default;
  virtual int version() const = 0;
  // Valid before init; empty if the plugin has none.
  virtual std::string name() const = 0;
  virtual abi::Result init(abi::LogFunction log) = 0;
  // A function that is needed and missing, or nothing. Some plugins fill their table in init.
  virtual std::string missing() const = 0;
  virtual abi::Result devices(int& count) = 0;
  // `deviceType`: abi::kHostNetDevice, or something that moves data from the GPU.
  virtual abi::Result properties(int device, NetProperties& properties, int& deviceType) = 0;

  virtual abi::Result listen(int device, NetHandle& handle, void*& comm) = 0;
  // The handle's memory must be the same until there is a comm.
  virtual abi::Result connect(int device, NetHandle& handle, void*& comm) = 0;
  virtual abi::Result accept(void* listening, void*& comm) = 0;
  virtual abi::Result registerMemory(void* comm, void* data, std::size_t bytes, int kind, void*& memory) = 0;
  virtual abi::Result deregisterMemory(void* comm, void* memory) = 0;
  virtual abi::Result isend(void* comm, void* data, std::size_t bytes, int tag, void* memory,
                            void*& request) = 0;
  virtual abi::Result irecv(void* comm, std::span<const NetBuffer> buffers, void*& request) = 0;
  virtual abi::Result iflush(void* comm, std::span<const NetBuffer> buffers, void*& request) = 0;
  // `sizes`: one for a send, one per buffer for a receive; null where nobody wants them.
  virtual abi::Result test(void* request, bool& done, int* sizes) = 0;
  virtual abi::Result closeSend(void* comm) = 0;
  virtual abi::Result closeReceive(void* comm) = 0;
  virtual abi::Result closeListen(void* comm) = 0;
};

// Buffers of one irecv; NCCL's plugins have eight at most.
constexpr std::size_t kMostBuffers = 8;

// `table`: what the library has under the symbol of that version.
std::unique_ptr<NetFunctions> netFunctions(int version, void* table);

// Tags are small and not negative: plugins put them into few bits. Steps of a queue count on for ever, and
// only those under way at one time have to differ.
constexpr int pluginTag(std::uint32_t tag) { return static_cast<int>(tag & 0x7fff); }

}  // namespace xylem
