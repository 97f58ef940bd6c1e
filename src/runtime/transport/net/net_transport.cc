#include "runtime/transport/net/net_transport.h"

namespace xylem::transport {

NetTransport::NetTransport(std::shared_ptr<PeerSessions> sessions, const NetOptions& options,
                           Network& network, Engine& engine)
    : Transport(std::move(sessions)), context_(std::make_shared<NetContext>()) {
  context_->stepBytes = options.stepBytes;
  context_->silence = options.silence;
  context_->network = &network;
  context_->engine = &engine;
  context_->device = options.device;
  context_->proxies = options.proxies;
}

Viability NetTransport::isViable(const Peer& self, const Peer& other) const {
  if (context_->network->deviceCount() == 0)
    return {false, "no network interface fits NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY"};
  if (self.net.family == 0 || other.net.family == 0)
    return {false, fmt::format("rank {} has no address on a network",
                               self.net.family == 0 ? self.rank : other.rank)};
  if (self.net.family != other.net.family)
    return {false,
            fmt::format("rank {} has an IPv{} address, rank {} an IPv{} one; NCCL_SOCKET_FAMILY selects",
                        self.rank, self.net.family, other.rank, other.net.family)};
  return {true, fmt::format("network {}", context_->network->name())};
}

std::unique_ptr<Connection> NetTransport::open(const ConnectionRequest& request, const Peer& peer) {
  return std::make_unique<NetConnection>(request, peer, sessions(), context_);
}

}  // namespace xylem::transport
