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
#include <span>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "planner/connect/net_choice.h"
#include "planner/plan/plan.h"
#include "runtime/comm/join/proxies.h"
#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"
#include "runtime/transport/choices/copy_choices.h"
#include "runtime/transport/choices/two_ways.h"
#include "runtime/transport/net/device_memory.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/queue/pump.h"
#include "runtime/transport/transport.h"

namespace xylem::comm {

struct ChosenTransport {
  connect::TransportKind kind = connect::TransportKind::kP2p;
  transport::Transport* transport = nullptr;
  std::string reason;  // why it is not the one that was asked for; empty if it is
};

// The settings of all transports of a rank.
struct TransportBasics {
  int rank = 0;
  sockets::Secret secret{};
  std::size_t bufferBytes = 0;                // of a queue; the same on all ranks
  sockets::SocketAddress address;             // the interface on which this rank accepts connections
  transport::CopyChoices copies{};            // those of all ranks of the host
  transport::TellChange tell{};               // hears when messages within the host go another way
  transport::DeviceMemory* device = nullptr;  // of this rank's GPU, if it has one; outlives the transports
};

class Transports {
 public:
  Transports(const TransportBasics& basics, std::unique_ptr<transport::Network> network,
             const Settings& settings, const std::shared_ptr<const Logger>& log);
  // Leaves the network to other ranks of the host if they still need it (rank_network.h).
  ~Transports();
  Transports(const Transports&) = delete;
  Transports& operator=(const Transports&) = delete;

  void announce(transport::Peer& self);
  void know(std::vector<transport::Peer> peers) { peers_ = std::move(peers); }

  // Starts to connect to the ranks of this host that send through each other's network devices; they start it, too. Returns the
  // connections.
  std::vector<transport::Connection*> openProxies(std::span<const ProxyPartner> partners);

  // The proxy, which moves the data of network queues.
  transport::Engine& engine();
  // The sessions with all peers, which the transports share.
  transport::PeerSessions& sessions();

  // Throws, with every transport's reason, if no transport joins this rank to the peer.
  ChosenTransport chooseFor(int peer, connect::TransportKind planned) const;
  std::unique_ptr<transport::Connection> open(const ChosenTransport& chosen,
                                              const transport::ConnectionRequest& request) const {
    return chosen.transport->open(request, peers_[static_cast<std::size_t>(request.peer)]);
  }

 private:
  struct Members;
  int rank_;
  std::unique_ptr<Members> members_;
  std::vector<transport::Peer> peers_;
};

// The transport that the plan wants for a pair of ranks; the same seen from both ends.
connect::TransportKind plannedTransport(const connect::NetChoice& choice, int rank, int peer);

// This rank's network device for a queue of a ring or tree, and of a send or receive; number 0 if the plan has none.
transport::QueueNic collectiveNic(const connect::NetChoice& choice, const plan::Plan& plan, int rank,
                                  int channel, int peer, paths::Direction direction);
transport::QueueNic transferNic(const connect::NetChoice& choice, const plan::Plan& plan, int rank, int peer,
                                int channel, paths::Direction direction);

}  // namespace xylem::comm
