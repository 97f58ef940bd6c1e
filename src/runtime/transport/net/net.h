#pragma once
// The `NET` transport: queues between ranks of different hosts, over any Network.
//
//   SocketNetwork network(SocketOptions::from(settings), secret, log);
//   Proxy proxy;
//   NetTransport net({.rank = 3, .secret = secret, .stepBytes = stepBytes, .address = chosen.address},
//   network, proxy,
//                    log);
//
// Each pair of ranks has a control connection over TCP, made by the lower rank, that carries handles,
// goodbyes and the reason when somebody gives up, and shows whether the peer's process and host are still
// there. The steps travel over links of the network, one for each queue, or one for a queue and the one back
// where the network can do that.

#include "runtime/transport/net/net_connection.h"
#include "runtime/transport/transport.h"

namespace xylem {

struct NetOptions {
  int rank = -1;
  // What the ranks of the job know.
  Secret secret{};
  StepBytes stepBytes{};
  // Where control connections are accepted; the port is chosen by the system.
  SocketAddress address;
  // After so much silence a peer counts as lost (XYLEM_PEER_TIMEOUT).
  std::chrono::seconds silence{20};
};

class NetTransport : public Transport {
 public:
  // `network`, `engine` and `log` must outlive this and its connections.
  NetTransport(const NetOptions& options, Network& network, Engine& engine, const Logger& log);

  std::string_view name() const override { return "NET"; }
  Viability isViable(const Peer& self, const Peer& other) const override;
  // Leaves the address empty if there is no device.
  void announce(Peer& self) override;
  std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) override;
  void abort(int culprit, std::string_view text) override;

 private:
  SocketAddress address_;
  const Logger& log_;
  std::shared_ptr<NetContext> context_;
};

}  // namespace xylem
