#include "runtime/transport/net/net_transport.h"

namespace xylem::transport {

NetTransport::NetTransport(const NetOptions& options, Network& network, Engine& engine, const Logger& log)
    : address_(options.address), log_(log), context_(std::make_shared<NetContext>()) {
  address_.setPort(0);
  context_->rank = options.rank;
  context_->secret = options.secret;
  context_->stepBytes = options.stepBytes;
  context_->silence = options.silence;
  context_->network = &network;
  context_->engine = &engine;
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

void NetTransport::announce(Peer& self) {
  if (context_->network->deviceCount() == 0) return;
  if (!context_->listener) context_->listener.emplace(address_, context_->secret, log_);
  self.net = context_->listener->address().toWire();
}

void NetTransport::abort(int failedRank, std::string_view text) {
  if (context_->listener) context_->listener->abort(failedRank, text);
}

std::unique_ptr<Connection> NetTransport::open(const ConnectionRequest& request, const Peer& peer) {
  if (!context_->listener)
    throw Error(ResultCode::kInternalError, "rank {} opens a connection to rank {} before it is announced",
                context_->rank, request.peer);
  return std::make_unique<NetConnection>(request, peer.net, context_);
}

}  // namespace xylem::transport
