#pragma once
// The network that every machine has: TCP sockets. Its devices are the network interfaces that
// NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY select.
//
//   SocketNetwork network(SocketOptions::from(settings), secret, log);
//   network.properties(0).name                            // "eth0"
//
// A listener's handle says where it listens and carries a random number. Only who knows both that number and
// the secret of the job can join its socket to the link; others are dropped.

#include <chrono>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/net/socket_join.h"
#include "runtime/transport/net/socket_layout.h"
#include "runtime/sockets/interfaces.h"
#include "runtime/sockets/secret.h"

namespace xylem {

struct SocketOptions {
  std::vector<Interface> devices;
  SocketChoice sockets;
  // After so much silence the other host counts as unreachable.
  std::chrono::seconds silence{20};
  // Of each socket and direction; 0: as the system adapts them.
  int bufferBytes = 0;
  std::string congestion = "auto";  // as Congestion takes it

  static SocketOptions from(const Settings& settings);
};

class SocketNetwork : public Network {
 public:
  // `log` must outlive everything that is made here. Throws for a congestion control that cannot be had.
  SocketNetwork(SocketOptions options, const Secret& secret, const Logger& log);

  std::string_view name() const override { return "Socket"; }
  int deviceCount() const override { return static_cast<int>(options_.devices.size()); }
  NetProperties properties(int device) const override;
  std::optional<SocketAddress> address(int device) const override { return interface(device).address; }
  std::unique_ptr<NetListener> listen(int device) override;
  std::unique_ptr<NetCaller> call(int device, const NetHandle& handle) override;

 private:
  const Interface& interface(int device) const;
  SocketTuning tuning() const { return {options_.silence, options_.bufferBytes, congestion_}; }

  SocketOptions options_;
  Congestion congestion_;
  Secret secret_;
  const Logger& log_;
};

}  // namespace xylem
