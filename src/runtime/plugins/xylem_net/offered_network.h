#pragma once
// Xylem's socket network as other programs' net plugin: what libnccl-net-xylem.so offers to NCCL. Functions
// as in the table of a plugin, but for results: they throw, and net_table.h turns that into result codes.
//
//   OfferedNetwork& net = OfferedNetwork::instance();
//   net.start(log);
//   void* listening = net.listen(0, handle);
//
// There is no secret of a job here: who is given a handle, by NCCL's own bootstrap, may connect.

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "runtime/plugins/net_abi.h"
#include "runtime/transport/net/socket_network.h"

namespace xylem {

// A request as NCCL sees it: it has to know its link.
struct OfferedRequest {
  NetLink* link = nullptr;
  NetRequest* request = nullptr;  // null: free
};

// A link of either direction, with all requests that it may have.
struct OfferedComm {
  std::unique_ptr<NetSender> sender;
  std::unique_ptr<NetReceiver> receiver;
  std::array<OfferedRequest, 32> requests;

  OfferedRequest* fresh();
};

class OfferedNetwork {
 public:
  static OfferedNetwork& instance();

  // Any number of times.
  void start(abi::LogFunction log);
  int devices() const;
  NetProperties properties(int device) const { return network().properties(device); }
  // As a plugin's, which stays.
  char* deviceName(int device) { return names_.at(static_cast<std::size_t>(device)).data(); }
  void warn(const char* text) const;

  void* listen(int device, void* handle);
  // Null: not yet.
  void* connect(int device, void* handle);
  void* accept(void* listening);

 private:
  const Network& network() const;
  Network& network() { return const_cast<Network&>(std::as_const(*this).network()); }

  Logger silent_{Settings()};
  std::unique_ptr<SocketNetwork> network_;
  std::vector<std::string> names_;
  abi::LogFunction log_ = nullptr;
};

}  // namespace xylem
