#pragma once
// One rank's connections to the other ranks of its bootstrap. They are authenticated, made when first needed,
// and kept; each carries frames both ways. Only `step` waits: it sleeps until a socket is ready.
//
//   PeerLinks links(rank, ranks, interface, secret, log);
//   links.know(3, address);
//   links.call(3);                                     // or rank 3 connects: step accepts its connection
//   links.send(3, FrameKind::kData, tag, bytes);       // kept back until there is a connection
//   while (!links.take(3, FrameKind::kData, tag, frame)) links.step(100, {});
//
// Frames that have not been taken yet wait in an inbox of bounded size. A link whose inbox is full is not
// read until frames are taken.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/sockets/accept_thread.h"
#include "runtime/sockets/connector.h"
#include "runtime/sockets/frames.h"
#include "runtime/sockets/pending_connections.h"

namespace xylem::bootstrap {

// A larger message is a bug.
constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 30;

class PeerLinks {
 public:
  // Listens at any port of `interface` and connects from the same address.
  PeerLinks(int rank, int ranks, const sockets::SocketAddress& interface, const sockets::Secret& secret,
            const Logger& log);

  const sockets::SocketAddress& address() const { return acceptor_.address(); }
  const sockets::SocketAddress& interface() const { return interface_; }

  void know(int peer, const sockets::SocketAddress& address) { addresses_[peer] = address; }
  bool knows(int peer) const { return addresses_.contains(peer); }
  const sockets::SocketAddress& addressOf(int peer) const { return addresses_.at(peer); }

  // Starts to connect to a rank whose address is known, unless that is done or under way.
  void call(int peer);
  // True if there is a connection that this rank made, that the peer made, or any (even one that is being
  // made).
  bool called(int peer) const;
  bool accepted(int peer) const;
  bool linked(int peer) const;
  // True if the peer has closed its connections or nothing listens at its address.
  bool gone(int peer) const;

  void send(int peer, sockets::FrameKind kind, std::uint64_t tag, std::span<const std::byte> payload);
  // Puts a message of this rank to itself into its inbox.
  void keep(sockets::FrameKind kind, std::uint64_t tag, std::span<const std::byte> payload);
  // True if the operating system has taken all bytes for the peer.
  bool sent(int peer) const;
  // Takes the oldest frame of this kind and tag from the inbox; false if there is none.
  bool take(int peer, sockets::FrameKind kind, std::uint64_t tag, sockets::Frame& frame);

  // Called with all frames but kData and kMessage, which wait in the inbox.
  std::function<void(int peer, sockets::Frame& frame)> onNews;

  // Sleeps for at most `milliseconds` until any socket, or one of `others`, is ready; then sends and
  // receives.
  void step(int milliseconds, std::span<const pollfd> others);

  // All ranks that this rank is connected to.
  std::vector<int> peers() const;
  // Sends all of them the reason why this rank gives up, and closes. Waits for at most `milliseconds` until
  // they have received it.
  void close(ResultCode code, std::string_view reason, int milliseconds) noexcept;

 private:
  struct Unsent {
    sockets::FrameKind kind;
    std::uint64_t tag;
    std::vector<std::byte> payload;
  };
  struct Link {
    std::optional<sockets::Connector> connector;
    sockets::FrameStream called;
    sockets::FrameStream accepted;
    sockets::FrameStream* out = nullptr;  // chosen once, so that messages stay in order
    std::vector<Unsent> unsent;           // frames sent before there is a connection
    std::deque<sockets::Frame> inbox;
    std::size_t inboxBytes = 0;
    bool gone = false;
  };
  void add(sockets::Accepted accepted);
  void acceptPending();
  void advanceConnector(int peer, Link& link);
  void opened(int peer, Link& link);
  void receive(int peer, Link& link, sockets::FrameStream& stream);
  void broken(int peer, Link& link, sockets::FrameStream& stream);
  void lost(Link& link, sockets::FrameStream& stream);
  const Link* find(int peer) const;

  struct Polled {
    int peer;
    Link* link;
    sockets::FrameStream* stream;  // null: its connector
  };

  int rank_;
  int ranks_;
  sockets::SocketAddress interface_;
  sockets::Secret secret_;
  const Logger& log_;
  sockets::Acceptor acceptor_;
  sockets::BackgroundAccept accepting_{acceptor_.pendingConnections()};
  std::map<int, sockets::SocketAddress> addresses_;
  std::map<int, Link> links_;
  std::vector<pollfd> fds_;
  std::vector<Polled> polled_;
};

}  // namespace xylem::bootstrap
