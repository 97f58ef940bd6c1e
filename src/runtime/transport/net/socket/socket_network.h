#pragma once
// The network that every machine has: TCP sockets. Its devices are the network interfaces that
// NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY select.
//
//   SocketNetwork network(SocketOptions::from(settings), secret, log);
//   network.properties(0).name                            // "eth0"
//
// The handle of a listener contains its address and a random number. Only a process that knows both that
// number and the secret of the job can connect a socket to the link; other connections are dropped.

#include <chrono>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "runtime/sockets/congestion.h"
#include "runtime/sockets/interfaces.h"
#include "runtime/sockets/secret.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/net/socket/socket_layout.h"

namespace xylem::transport {

// Applied to every socket of a link.
struct SocketTuning {
  std::chrono::seconds silence{20};
  int bufferBytes = 0;
  sockets::Congestion congestion;
};

struct SocketOptions {
  std::vector<sockets::Interface> devices;
  SocketChoice sockets;
  // The other host counts as unreachable if it is silent for this long.
  std::chrono::seconds silence{20};
  // The kernel's buffer of each socket and direction; 0: sized by the system.
  int bufferBytes = 0;
  std::string congestion = "auto";  // as in Congestion

  static SocketOptions from(const Settings& settings);
};

class SocketNetwork : public Network {
 public:
  // `log` must outlive all objects made here. Throws if the system does not have the congestion control.
  SocketNetwork(SocketOptions options, const sockets::Secret& secret, const Logger& log);

  std::string_view name() const override { return "Socket"; }
  int deviceCount() const override { return static_cast<int>(options_.devices.size()); }
  NetProperties properties(int device) const override;
  std::optional<sockets::SocketAddress> address(int device) const override {
    return interface(device).address;
  }
  std::unique_ptr<NetListener> listen(int device) override;
  std::unique_ptr<NetConnector> call(int device, const NetHandle& handle) override;

 private:
  const sockets::Interface& interface(int device) const;
  SocketTuning tuning() const { return {options_.silence, options_.bufferBytes, congestion_}; }

  SocketOptions options_;
  sockets::Congestion congestion_;
  sockets::Secret secret_;
  const Logger& log_;
};

}  // namespace xylem::transport
