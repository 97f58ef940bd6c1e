#pragma once
// The functions of a plugin for networks that reduce, whatever its version; as NetFunctions of a net plugin.
//
//   std::unique_ptr<CollFunctions> coll = collFunctions(8, dlsym(library, "ncclCollNetPlugin_v8"));
//   if (coll->init(pluginLog(log)) == 0 && coll->devices(count) == 0 && count > 0) ...
//
// Only those that an AllReduce needs. Results and out-parameters are the plugin's; what a plugin may leave
// unwritten is preset.

#include <memory>
#include <span>
#include <string>

#include "core/data_type.h"
#include "runtime/plugins/coll_abi.h"
#include "runtime/transport/net/network.h"

namespace xylem {

class CollFunctions {
 public:
  virtual ~CollFunctions() = default;
  virtual int version() const = 0;
  // Valid before init; empty if the plugin has none.
  virtual std::string name() const = 0;
  virtual abi::Result init(abi::LogFunction log) = 0;
  virtual abi::Result devices(int& count) = 0;
  // A function that is needed and missing, or nothing. Some plugins fill their table in init, and not at all
  // if they have no device.
  virtual std::string missing() const = 0;
  virtual abi::Result properties(int device, NetProperties& properties) = 0;

  virtual abi::Result listen(int device, NetHandle& handle, void*& comm) = 0;
  // Waits for the other members. Their handles' memory is the plugin's to write to meanwhile.
  virtual abi::Result connect(std::span<NetHandle> handles, int self, void* listening, void*& comm) = 0;
  virtual abi::Result reduces(DataType type, ReduceOp op, bool& answer) = 0;
  virtual abi::Result registerMemory(void* comm, void* data, std::size_t bytes, int kind, void*& memory) = 0;
  virtual abi::Result deregisterMemory(void* comm, void* memory) = 0;
  virtual abi::Result iallreduce(void* comm, void* in, void* out, std::size_t count, DataType type,
                                 ReduceOp op, void* inMemory, void* outMemory, void*& request) = 0;
  virtual abi::Result test(void* request, bool& done) = 0;
  virtual abi::Result closeComm(void* comm) = 0;
  virtual abi::Result closeListen(void* comm) = 0;
};

// `table`: what the library has under the symbol of that version.
std::unique_ptr<CollFunctions> collFunctions(int version, void* table);

}  // namespace xylem
