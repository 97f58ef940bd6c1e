#include "runtime/comm/join/transports.h"

#include <array>

#include "runtime/transport/net/proxy.h"
#include "runtime/transport/net/net.h"
#include "runtime/transport/local/p2p.h"
#include "runtime/transport/local/shm.h"

namespace xylem {

// The transports outlive their connections, the network its transport, and the proxy all of them.
struct Transports::Members {
  Members(const TransportBasics& basics, std::unique_ptr<Network> through, const Settings& settings,
          const Logger& log)
      : acceptor(std::make_shared<LocalAcceptor>(basics.rank, basics.secret, log)),
        p2p(acceptor, basics.bufferBytes, static_cast<std::size_t>(settings.integer(Setting::kCrossMemory))),
        shm(acceptor, basics.bufferBytes),
        network(std::move(through)),
        net({.rank = basics.rank,
             .secret = basics.secret,
             .stepBytes = netStepBytesFor(basics.bufferBytes),
             .address = basics.address,
             .silence = std::chrono::seconds(settings.integer(Setting::kPeerTimeout))},
            *network, proxy, log) {}

  std::shared_ptr<LocalAcceptor> acceptor;
  P2pTransport p2p;
  ShmTransport shm;
  Proxy proxy;
  std::unique_ptr<Network> network;
  NetTransport net;
};

Transports::Transports(const TransportBasics& basics, std::unique_ptr<Network> network,
                       const Settings& settings, const Logger& log)
    : rank_(basics.rank), members_(std::make_unique<Members>(basics, std::move(network), settings, log)) {}

Transports::~Transports() = default;

Engine& Transports::engine() { return members_->proxy; }

void Transports::announce(Peer& self) {
  members_->p2p.announce(self);
  members_->shm.announce(self);
  members_->net.announce(self);
}

void Transports::abort(int culprit, std::string_view text) {
  members_->shm.abort(culprit, text);  // through the acceptor that is P2P's, too
  members_->net.abort(culprit, text);
}

TransportWay Transports::wayTo(int peer, TransportKind planned) const {
  const std::array<std::pair<TransportKind, Transport*>, 3> all = {{{TransportKind::kP2p, &members_->p2p},
                                                                    {TransportKind::kShm, &members_->shm},
                                                                    {TransportKind::kNet, &members_->net}}};
  std::string reasons;
  for (const auto& [kind, transport] : all) {
    if (kind < planned) continue;
    const Viability viability =
        transport->isViable(peers_[static_cast<std::size_t>(rank_)], peers_[static_cast<std::size_t>(peer)]);
    if (viability.viable) return {kind, transport, reasons};
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", transport->name(), viability.reason);
  }
  throw Error(ResultCode::kInvalidUsage, "no transport joins rank {} to rank {}: {}", rank_, peer, reasons);
}

}  // namespace xylem
