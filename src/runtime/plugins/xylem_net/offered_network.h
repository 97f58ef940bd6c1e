#pragma once
// Xylem's socket network as a net plugin for other programs: what libnccl-net-xylem.so offers to NCCL. The
// functions are those of a plugin's table but throw errors; plugin.cc turns these into result codes.
//
//   OfferedNetwork& net = OfferedNetwork::instance();
//   net.start(log);
//   void* listening = net.listen(0, handle);
//
// There is no secret of a job here: every holder of a handle, which NCCL's bootstrap passes on, may connect.

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "runtime/plugins/net_abi.h"
#include "runtime/transport/net/socket/socket_network.h"

namespace xylem::xylem_net {

// A request as NCCL sees it, with the link that it belongs to.
struct OfferedRequest {
  transport::NetLink* link = nullptr;
  transport::NetRequest* request = nullptr;  // null: free
};

// A sender or a receiver, with all the requests that it can have at a time.
struct OfferedComm {
  std::unique_ptr<transport::NetSender> sender;
  std::unique_ptr<transport::NetReceiver> receiver;
  std::array<OfferedRequest, 32> requests;

  OfferedRequest* fresh();
};

class OfferedNetwork {
 public:
  static OfferedNetwork& instance();

  // May be called any number of times.
  void start(plugins::abi::LogFunction log);
  int devices() const;
  transport::NetProperties properties(int device) const { return network().properties(device); }
  // The device's name, in memory that stays.
  char* deviceName(int device) { return names_.at(static_cast<std::size_t>(device)).data(); }
  // To the log of the process that has loaded the plugin.
  void log(LogLevel level, const char* text) const;

  void* listen(int device, void* handle);
  // Return null as long as there is no connection.
  void* connect(int device, void* handle);
  void* accept(void* listening);

 private:
  const transport::Network& network() const;
  transport::Network& network() { return const_cast<transport::Network&>(std::as_const(*this).network()); }

  Logger silent_{Settings()};
  std::unique_ptr<transport::SocketNetwork> network_;
  std::vector<std::string> names_;
  plugins::abi::LogFunction log_ = nullptr;
};

}  // namespace xylem::xylem_net
