#include "runtime/transport/local/local_transport.h"

#include "runtime/transport/local/local_connection.h"

namespace xylem {

Viability LocalTransport::isViable(const Peer& self, const Peer& other) const {
  if (self.hostHash != other.hostHash) return {false, fmt::format("rank {} is on another host", other.rank)};
  if (self.networkNamespace != other.networkNamespace)
    return {
        false,
        fmt::format("rank {} is in another network namespace of this host, where local sockets do not reach",
                    other.rank)};
  return {true, self.process == other.process ? "same process" : "same host"};
}

void LocalTransport::announce(Peer& self) {
  self.local = acceptor_->name();
  self_ = self;
}

std::unique_ptr<Connection> LocalTransport::open(const ConnectionRequest& request, const Peer& peer) {
  return std::make_unique<LocalConnection>(request, kind_, self_, peer, stepBytes_, crossMemoryBytes_,
                                           acceptor_);
}

}  // namespace xylem
