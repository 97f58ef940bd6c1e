#pragma once
// The `NET` transport: queues between ranks of different hosts, over any Network.
//
//   SocketNetwork network(SocketOptions::from(settings), secret, log);
//   Proxy proxy;
//   const NetOptions options{.rank = 3, .secret = secret, .stepBytes = stepBytes, .address = address};
//   NetTransport net(options, network, proxy, log);
//
// Each pair of ranks has a control connection over TCP, which the lower rank makes. It carries handles,
// goodbyes and the reason of an abort, and shows whether the peer's process and host are alive. The steps
// travel over links of the network: one per queue, or one connection for two queues of opposite directions
// if the network can.

#include "runtime/transport/net/net_connection.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

struct NetOptions {
  int rank = -1;
  // The secret that all ranks of the job know.
  sockets::Secret secret{};
  StepBytes stepBytes{};
  // Where this rank accepts control connections; the system chooses the port.
  sockets::SocketAddress address;
  // A peer that is silent for this long counts as lost (XYLEM_PEER_TIMEOUT).
  std::chrono::seconds silence{20};
};

class NetTransport : public Transport {
 public:
  // `network`, `engine` and `log` must outlive this object and its connections.
  NetTransport(const NetOptions& options, Network& network, Engine& engine, const Logger& log);

  std::string_view name() const override { return "NET"; }
  Viability isViable(const Peer& self, const Peer& other) const override;
  // Leaves the address empty if the network has no device.
  void announce(Peer& self) override;
  std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) override;
  void abort(int failedRank, std::string_view text) override;

 private:
  sockets::SocketAddress address_;
  const Logger& log_;
  std::shared_ptr<NetContext> context_;
};

}  // namespace xylem::transport
