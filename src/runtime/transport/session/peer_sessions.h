#pragma once
// All sessions of a rank, one per peer, and the listeners to which peers connect: a local socket for ranks of
// its host, TCP for others. Each connection shows first that it belongs to the job
// (runtime/sockets/handshake.h).
//
//   auto sessions = std::make_shared<PeerSessions>(SessionOptions{.rank = rank, .secret = secret}, log);
//   sessions->announce(self);                                       // then all ranks gather all Peers
//   std::shared_ptr<PeerSession> session = sessions->with(peer);
//
// Any thread may call any function.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "core/log.h"
#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"
#include "runtime/transport/peer.h"
#include "runtime/transport/session/peer_session.h"

namespace xylem::transport {

struct SessionOptions {
  int rank = -1;
  // The secret that all ranks of the job know.
  sockets::Secret secret{};
  // Whether ranks of this host can connect over a local socket.
  bool local = true;
  // Where this rank accepts connections over the network; the system chooses the port. Nothing: nowhere.
  std::optional<sockets::SocketAddress> address{};
  // A peer on another host that is silent for this long counts as lost (XYLEM_PEER_TIMEOUT).
  std::chrono::seconds silence{20};
};

class PeerSessions {
 public:
  // Starts to accept connections. `log` must outlive this object and its sessions.
  PeerSessions(const SessionOptions& options, const Logger& log);

  int rank() const;
  // Writes where this rank accepts connections into `self`, which it keeps as the description of this rank.
  void announce(Peer& self);
  const Peer& self() const;
  // The session with a peer, over a local socket if both ranks can use one. It is made by the first call and
  // lives as long as this object or a user.
  std::shared_ptr<PeerSession> with(const Peer& peer);
  // Whether that session is over a local socket.
  bool isLocal(const Peer& peer) const;
  // The address of this rank's listener on the network, and that of a peer as it is reached from here.
  std::optional<sockets::SocketAddress> address() const;
  sockets::SocketAddress addressOf(const Peer& peer) const;

  // Tells all peers that this rank gives up: those with a session, and those that connect, now
  // or later.
  void abort(int failedRank, std::string_view text);

 private:
  struct Listeners;
  class PeerConnections;
  const std::shared_ptr<Listeners> listeners_;
  std::mutex mutex_;  // guards sessions_
  std::map<int, std::shared_ptr<PeerSession>> sessions_;
};

}  // namespace xylem::transport
