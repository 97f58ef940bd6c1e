#pragma once
// The part of a net plugin's library that is a network that reduces (CollNet). CollFunctions calls the
// functions of its table, whatever its version; CollPlugin initialises and checks it.
//
//   const auto plugin = std::make_shared<const CollPlugin>(library, log);   // throws, with the reason, if it cannot be used
//   const CollUse use(plugin, communicator);
//   if (plugin->reduces(DataType::kFloat32, ReduceOp::kSum)) plugin->functions().listen(use.context(), ...)
//
// NetPlugin::collective has the one of its library. Results
// and out-parameters are the plugin's; those that a plugin may leave unwritten are set before the call.

#include <memory>
#include <span>
#include <string>

#include "core/data_type.h"
#include "runtime/plugins/coll_abi.h"
#include "runtime/plugins/plugin_library.h"
#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/net/network.h"

namespace xylem::plugins {

class CollFunctions {
 public:
  virtual ~CollFunctions() = default;
  virtual int version() const = 0;
  // Valid before init; empty if the plugin has none.
  virtual std::string name() const = 0;
  // See NetFunctions.
  virtual bool hasContexts() const = 0;
  virtual abi::Result init(abi::LogFunction log, std::uint64_t communicator, void*& context) = 0;
  virtual void finalize(void* context) = 0;
  virtual abi::Result devices(int& count) = 0;
  // A function that is needed and missing, or nothing. Some plugins fill their table only in init, and only
  // if they have a device.
  virtual std::string missing() const = 0;
  virtual abi::Result properties(int device, transport::NetProperties& properties) = 0;

  virtual abi::Result listen(void* context, int device, transport::NetHandle& handle, void*& comm) = 0;
  // Waits for the other members. Meanwhile the plugin may write to their handles.
  virtual abi::Result connect(std::span<transport::NetHandle> handles, int self, void* listening,
                              void*& comm) = 0;
  virtual abi::Result reduces(DataType type, ReduceOp op, bool& answer) = 0;
  virtual abi::Result registerMemory(void* comm, void* data, std::size_t bytes, int kind, void*& memory) = 0;
  virtual abi::Result deregisterMemory(void* comm, void* memory) = 0;
  virtual abi::Result iallreduce(void* comm, void* in, void* out, std::size_t count, DataType type,
                                 ReduceOp op, void* inMemory, void* outMemory, void*& request) = 0;
  virtual abi::Result test(void* request, bool& done) = 0;
  // Whether the plugin has the next two functions. They carry the parts of all members, in whole.
  virtual bool gathers() const = 0;
  virtual bool scatters() const = 0;
  virtual abi::Result iallgather(void* comm, const std::byte* in, std::span<const transport::CollPart> out,
                                 void* inMemory, void* outMemory, void*& request) = 0;
  virtual abi::Result ireducescatter(void* comm, std::span<const transport::CollPart> in, std::byte* out,
                                     DataType type, ReduceOp op, void* inMemory, void* outMemory,
                                     void*& request) = 0;
  virtual abi::Result closeComm(void* comm) = 0;
  virtual abi::Result closeListen(void* comm) = 0;
};

// `table`: the object under the library's symbol of that version.
std::unique_ptr<CollFunctions> collFunctions(int version, void* table);

class CollPlugin {
 public:
  // Initialises the plugin; after the net plugin of its library. Throws if it cannot be used.
  CollPlugin(std::shared_ptr<const PluginLibrary> library, const std::shared_ptr<const Logger>& log);
  ~CollPlugin();
  CollPlugin(const CollPlugin&) = delete;
  CollPlugin& operator=(const CollPlugin&) = delete;

  const std::string& name() const { return name_; }
  // For errors: `collnet plugin Test`.
  std::string label() const { return "collnet plugin " + name_; }
  int deviceCount() const { return devices_; }
  transport::NetProperties properties(int device) const;
  bool reduces(DataType type, ReduceOp op) const;
  CollFunctions& functions() const { return *functions_; }

 private:
  friend class CollUse;
  void check();
  void checkReductions();

  std::shared_ptr<const PluginLibrary> library_;
  const abi::LogFunction log_;
  std::unique_ptr<CollFunctions> functions_;
  std::string name_;
  void* context_ = nullptr;  // in which its devices are listed
  int devices_ = 0;
};

// A communicator's use of a plugin, which has a context for it if it has contexts.
class CollUse {
 public:
  CollUse(std::shared_ptr<const CollPlugin> plugin, std::uint64_t communicator);
  ~CollUse();
  CollUse(const CollUse&) = delete;
  CollUse& operator=(const CollUse&) = delete;

  const CollPlugin& plugin() const { return *plugin_; }
  void* context() const { return context_; }

 private:
  const std::shared_ptr<const CollPlugin> plugin_;
  void* context_ = nullptr;
};

}  // namespace xylem::plugins
