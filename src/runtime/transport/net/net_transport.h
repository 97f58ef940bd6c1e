#pragma once
// The `NET` transport: queues between ranks of different hosts, over any Network.
//
//   SocketNetwork network(SocketOptions::from(settings), secret, log);
//   Proxy proxy;
//   NetTransport net(sessions, {.stepBytes = stepBytes}, network, proxy);
//
// The session of a pair of ranks (peer_session.h) carries the handles of their queues. The steps travel over
// links of the network: one per queue, or one connection for two queues of opposite directions if the network
// can.

#include "runtime/transport/net/net_connection.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

struct NetOptions {
  StepBytes stepBytes{};
  // A path that carries only data and is silent for this long counts as cut (XYLEM_PEER_TIMEOUT).
  std::chrono::seconds silence{20};
  DeviceMemory* device = nullptr;  // of the rank's GPU, if it has one; outlives the connections
  ProxyRanks* proxies =
      nullptr;  // the ranks of this host that may send for this one; outlive the connections
};

class NetTransport : public Transport {
 public:
  // `network` and `engine` must outlive this object and its connections.
  NetTransport(std::shared_ptr<PeerSessions> sessions, const NetOptions& options, Network& network,
               Engine& engine);

  std::string_view name() const override { return "NET"; }
  Viability isViable(const Peer& self, const Peer& other) const override;
  std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) override;

 private:
  std::shared_ptr<NetContext> context_;
};

}  // namespace xylem::transport
