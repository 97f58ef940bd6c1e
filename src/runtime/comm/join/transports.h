#pragma once
// The transports of one rank, and which of them joins it with which peer: the one that the plan chose, or, if
// that cannot, the next one that can.
//
//   Transports transports({rank, secret, bufferBytes, address}, std::move(network), settings, log);
//   transports.announce(self);                             // then all ranks exchange their Peer
//   transports.know(peers);
//   const ChosenTransport chosen = transports.chooseFor(peer, plannedTransport(choice, rank, peer));
//   auto connection = transports.open(chosen, request);

#include <memory>
#include <string>
#include <vector>

#include "planner/connect/net_choice.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/transport/queue/pump.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/transport.h"
#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"
#include "planner/plan/plan.h"

namespace xylem {

struct ChosenTransport {
  TransportKind kind = TransportKind::kP2p;
  Transport* transport = nullptr;
  std::string reason;  // why it is not the one that was asked for; empty if it is
};

// The settings of all transports of a rank.
struct TransportBasics {
  int rank = 0;
  Secret secret{};
  std::size_t bufferBytes = 0;  // of a queue; the same on all ranks
  SocketAddress address;        // the interface on which this rank accepts connections
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

  // The proxy, which moves the data of network queues; it ends with the transports.
  Engine& engine();
  // Tells peers that are still connecting that this rank gives up.
  void abort(int failedRank, std::string_view text);

  // Throws, with every transport's reason, if no transport joins this rank to the peer.
  ChosenTransport chooseFor(int peer, TransportKind planned) const;
  std::unique_ptr<Connection> open(const ChosenTransport& chosen, const ConnectionRequest& request) const {
    return chosen.transport->open(request, peers_[static_cast<std::size_t>(request.peer)]);
  }

 private:
  struct Members;
  int rank_;
  std::unique_ptr<Members> members_;
  std::vector<Peer> peers_;
};

// The transport that the plan wants for a pair of ranks; the same seen from both ends.
TransportKind plannedTransport(const NetChoice& choice, int rank, int peer);

// The number of this rank's network device for a queue of a ring or tree, and of a send or receive; 0 if the
// plan has none.
int collectiveDevice(const NetChoice& choice, const Plan& plan, int rank, int channel, int peer,
                     Direction direction);
int transferDevice(const NetChoice& choice, const Plan& plan, int rank, int peer, int channel,
                   Direction direction);

}  // namespace xylem
