#pragma once
// The transports of one rank, and which of them joins it with whom: the one that the plan chose, or, where
// that one cannot, the next that can.
//
//   Transports transports({rank, secret, stepBytes, address}, std::move(network), settings, log);
//   transports.announce(self);                             // then all ranks exchange their Peer
//   transports.know(peers);
//   const TransportWay way = transports.wayTo(peer, TransportKind::kP2p);
//   auto connection = transports.open(way, request);

#include <memory>
#include <string>
#include <vector>

#include "planner/connect/net_choice.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/transport/queue/engine.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/transport.h"
#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

struct TransportWay {
  TransportKind kind = TransportKind::kP2p;
  Transport* transport = nullptr;
  std::string reason;  // why not the one that was asked for; empty: it is that one
};

// What all transports of a rank are made from.
struct TransportBasics {
  int rank = 0;
  Secret secret{};
  std::size_t bufferBytes = 0;  // of a queue; the same on all ranks
  SocketAddress address;        // the interface on which this rank can be called
};

class Transports {
 public:
  Transports(const TransportBasics& basics, std::unique_ptr<Network> network, const Settings& settings,
             const Logger& log);
  ~Transports();
  Transports(const Transports&) = delete;
  Transports& operator=(const Transports&) = delete;

  void announce(Peer& self);
  void know(std::vector<Peer> peers) { peers_ = std::move(peers); }

  // The proxy's, for the queues of other networks; it ends with the transports.
  Engine& engine();
  // This rank gives up.
  void abort(int culprit, std::string_view text);

  // Throws, with every transport's reason, if there is no way.
  TransportWay wayTo(int peer, TransportKind planned) const;
  std::unique_ptr<Connection> open(const TransportWay& way, const ConnectionRequest& request) const {
    return way.transport->open(request, peers_[static_cast<std::size_t>(request.peer)]);
  }

 private:
  struct Members;
  int rank_;
  std::unique_ptr<Members> members_;
  std::vector<Peer> peers_;
};

}  // namespace xylem
