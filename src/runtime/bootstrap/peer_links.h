#pragma once
// One rank's connections to others of its bootstrap: made when first needed, authenticated, and kept. Any of
// them carries frames both ways. Nothing here waits but `step`, which sleeps until a socket has something.
//
//   PeerLinks links(identity, interface, secret, log);
//   links.know(3, address);
//   links.call(3);                                     // or rank 3 calls us: its call is accepted in step
//   links.send(3, FrameKind::kData, tag, bytes);       // kept back until there is a connection
//   while (!links.take(3, FrameKind::kData, tag, frame)) links.step(100, {});
//
// Frames that nobody has asked for yet wait in an inbox. Its size is bounded: then the connection is not read
// any more until somebody takes frames out.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/sockets/acceptor.h"
#include "runtime/sockets/caller.h"
#include "runtime/sockets/doorman.h"
#include "runtime/sockets/frames.h"

namespace xylem {

// Larger messages are a mistake.
constexpr std::size_t kMostFrameBytes = std::size_t{1} << 30;

class PeerLinks {
 public:
  // Listens at a port of `interface`, the address that calls go out from as well.
  PeerLinks(int rank, int ranks, const SocketAddress& interface, const Secret& secret, const Logger& log);

  const SocketAddress& address() const { return acceptor_.address(); }
  const SocketAddress& interface() const { return interface_; }

  void know(int peer, const SocketAddress& address) { addresses_[peer] = address; }
  bool knows(int peer) const { return addresses_.contains(peer); }
  const SocketAddress& addressOf(int peer) const { return addresses_.at(peer); }

  // Starts to connect to a rank whose address is known, unless that is done or under way.
  void call(int peer);
  // Whether there is a connection that we called, that the peer called, or any (even one that is being made).
  bool called(int peer) const;
  bool accepted(int peer) const;
  bool linked(int peer) const;
  // Whether the peer has closed its connections or nobody listens at its address.
  bool gone(int peer) const;

  void send(int peer, FrameKind kind, std::uint64_t tag, std::span<const std::byte> payload);
  // Puts a message of this rank to itself into its inbox.
  void keep(FrameKind kind, std::uint64_t tag, std::span<const std::byte> payload);
  // Whether the system has taken all that was sent to it.
  bool sent(int peer) const;
  // The oldest frame of this kind and tag, if there is one.
  bool take(int peer, FrameKind kind, std::uint64_t tag, Frame& frame);

  // Frames of these kinds do not wait in the inbox: they go here.
  std::function<void(int peer, Frame& frame)> onNews;

  // Sleeps until any socket, or one of `others`, is ready, at most `milliseconds`; then moves everything on.
  void step(int milliseconds, std::span<const pollfd> others);

  // Everybody there is a connection to.
  std::vector<int> peers() const;
  // Says why this rank gives up to all of them, and closes. Waits at most `milliseconds` for them to have
  // heard.
  void close(ResultCode code, std::string_view reason, int milliseconds) noexcept;

 private:
  struct Held {
    FrameKind kind;
    std::uint64_t tag;
    std::vector<std::byte> payload;
  };
  struct Link {
    std::optional<Caller> caller;
    FrameStream called;
    FrameStream accepted;
    FrameStream* out = nullptr;  // once used, always the same one: that keeps messages in order
    std::vector<Held> unsent;    // until there is a connection
    std::deque<Frame> inbox;
    std::size_t inboxBytes = 0;
    bool gone = false;
  };
  void welcome(Accepted accepted);
  void letIn();
  void advanceCaller(int peer, Link& link);
  void opened(int peer, Link& link);
  void receive(int peer, Link& link, FrameStream& stream);
  void broken(int peer, Link& link, FrameStream& stream);
  void lost(Link& link, FrameStream& stream);
  const Link* find(int peer) const;

  struct Polled {
    int peer;
    Link* link;
    FrameStream* stream;  // null: its caller
  };

  int rank_;
  int ranks_;
  SocketAddress interface_;
  Secret secret_;
  const Logger& log_;
  Acceptor acceptor_;
  Watched watched_{acceptor_.reception()};
  std::map<int, SocketAddress> addresses_;
  std::map<int, Link> links_;
  std::vector<pollfd> fds_;
  std::vector<Polled> polled_;
};

}  // namespace xylem
