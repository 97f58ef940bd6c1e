#include "runtime/transport/session/peer_sessions.h"

#include <poll.h>

#include <functional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/sockets/accept_thread.h"
#include "runtime/sockets/connector.h"
#include "runtime/sockets/pending_connections.h"
#include "runtime/transport/session/unix_socket.h"

namespace xylem::transport {
namespace {

sockets::Hello helloOf(int rank) {
  sockets::Hello hello;
  hello.purpose = sockets::Purpose::kSession;
  hello.rank = rank;
  return hello;
}

class LocalConnector : public SessionConnector {
 public:
  LocalConnector(int rank, int peer, const LocalName& name, const sockets::Secret& secret)
      : rank_(rank), peer_(peer), name_(name), secret_(secret) {}

  std::unique_ptr<MessageStream> advance() override {
    try {
      return connect();
    } catch (const Error& error) {
      throw Error(error.code(), "cannot connect to rank {}: {}", peer_, error.what());
    }
  }
  int waitsFor() const override { return handshake_ && handshake_->events() == POLLIN ? socket_.get() : -1; }

 private:
  std::unique_ptr<MessageStream> connect() {
    if (!handshake_) {
      if (!retries_.due()) return nullptr;
      socket_ = connectLocal(name_);
      if (!socket_) return nullptr;
      handshake_ = sockets::Handshake::call(socket_.get(), secret_, helloOf(rank_));
    }
    const sockets::Handshake::State state = handshake_->advance();
    if (state == sockets::Handshake::State::kDone) return messagesOverLocalSocket(std::move(socket_));
    if (state == sockets::Handshake::State::kFailed) {
      // A listener with too many connection attempts closes some of them: try again.
      if (!handshake_->closed() || !retries_.again())
        throw Error(ResultCode::kRemoteError, "{}", handshake_->reason());
      handshake_.reset();
      socket_.reset();
    }
    return nullptr;
  }

  const int rank_;
  const int peer_;
  const LocalName name_;
  const sockets::Secret secret_;
  FileDescriptor socket_;
  std::optional<sockets::Handshake> handshake_;
  sockets::Retries retries_;
};

class TcpConnector : public SessionConnector {
 public:
  TcpConnector(int rank, int peer, const sockets::SocketAddress& to, const sockets::SocketAddress& from,
               const sockets::Secret& secret, std::chrono::seconds silence)
      : peer_(peer), silence_(silence), connector_(to, &from, secret, helloOf(rank)) {}

  std::unique_ptr<MessageStream> advance() override {
    try {
      if (connector_.advance()) return messagesOverTcp(connector_.take(), silence_);
    } catch (const Error& error) {
      throw Error(error.code(), "rank {}: {}", peer_, error.what());
    }
    if (connector_.refused())
      throw Error(ResultCode::kRemoteError, "cannot connect to rank {} at {}: nobody listens there any more",
                  peer_, connector_.to().text());
    return nullptr;
  }
  int waitsFor() const override { return -1; }

 private:
  const int peer_;
  const std::chrono::seconds silence_;
  sockets::Connector connector_;
};

}  // namespace

struct PeerSessions::Listeners {
  // The connections that peers have made and this rank has not taken, at one listener.
  class AcceptedConnections {
   public:
    explicit AcceptedConnections(sockets::PendingConnections& pending)
        : pending_(pending), accepting_(pending) {}

    // The connection of this rank; an invalid descriptor if there is none. Goes on with all handshakes.
    FileDescriptor take(int rank) {
      const std::lock_guard lock(mutex_);
      for (sockets::Accepted& accepted : pending_.advance()) {
        if (accepted.hello.purpose == sockets::Purpose::kSession)
          // A rank that connects again has given up its earlier connection.
          waiting_[accepted.hello.rank] = std::move(accepted.socket);
        else
          pending_.drop(accepted, "it is none between two ranks");
      }
      const auto found = waiting_.find(rank);
      if (found == waiting_.end()) return {};
      FileDescriptor socket = std::move(found->second);
      waiting_.erase(found);
      return socket;
    }
    // A descriptor that is readable if take() can make progress; -1 if it would return a connection.
    int waitsFor(int rank) const {
      const std::lock_guard lock(mutex_);
      return waiting_.contains(rank) ? -1 : pending_.fd();
    }
    // Calls `say` with the socket of every connection that is not taken, now or when it comes.
    void tellAll(const std::function<void(int socket)>& say) {
      const std::lock_guard lock(mutex_);
      pending_.tellAll(say);
      for (const auto& [rank, socket] : waiting_) say(socket.get());
    }

   private:
    sockets::PendingConnections& pending_;
    sockets::BackgroundAccept accepting_;
    mutable std::mutex mutex_;  // guards waiting_
    std::map<int, FileDescriptor> waiting_;
  };

  struct LocalEndpoint {
    LocalEndpoint(const sockets::Secret& secret, const Logger& log)
        : pending(
              listener.fd(), [this] { return listener.accept(); }, secret, log, "SHM"),
          accepted(pending) {}

    LocalListener listener;
    sockets::PendingConnections pending;
    AcceptedConnections accepted;
  };

  struct NetEndpoint {
    NetEndpoint(const sockets::SocketAddress& address, const sockets::Secret& secret, const Logger& log)
        : acceptor(address, secret, log, "NET"), accepted(acceptor.pendingConnections()) {}

    sockets::Acceptor acceptor;
    AcceptedConnections accepted;
  };

  Listeners(const SessionOptions& given, const Logger& log) : options(given) {
    if (options.local) local.emplace(options.secret, log);
    if (!options.address) return;
    sockets::SocketAddress anyPort = *options.address;
    anyPort.setPort(0);
    net.emplace(anyPort, options.secret, log);
  }
  bool isLocal(const Peer& peer) const {
    return local && peer.local != LocalName{} && peer.hostHash == self.hostHash &&
           peer.networkNamespace == self.networkNamespace;
  }
  // A link-local address is reached through this rank's own interface.
  sockets::SocketAddress addressOf(const Peer& peer) const {
    sockets::WireAddress to = peer.net;
    if (net && sockets::SocketAddress::fromWire(to).linkLocal())
      to.scope = net->acceptor.address().toWire().scope;
    return sockets::SocketAddress::fromWire(to);
  }

  const SessionOptions options;
  Peer self;
  std::optional<LocalEndpoint> local;
  std::optional<NetEndpoint> net;
};

// The ways to one peer: over local sockets, or over TCP.
class PeerSessions::PeerConnections : public SessionConnections {
 public:
  PeerConnections(std::shared_ptr<Listeners> listeners, const Peer& peer)
      : listeners_(std::move(listeners)), peer_(peer), local_(listeners_->isLocal(peer)) {
    if (!local_ && !listeners_->net)
      throw Error(ResultCode::kInternalError, "rank {} has no way to rank {}", listeners_->options.rank,
                  peer_.rank);
  }

  std::unique_ptr<SessionConnector> connect() override {
    const SessionOptions& own = listeners_->options;
    if (local_) return std::make_unique<LocalConnector>(own.rank, peer_.rank, peer_.local, own.secret);
    return std::make_unique<TcpConnector>(own.rank, peer_.rank, listeners_->addressOf(peer_),
                                          listeners_->net->acceptor.address(), own.secret, own.silence);
  }
  std::unique_ptr<MessageStream> accept() override {
    FileDescriptor socket = accepted().take(peer_.rank);
    if (!socket) return nullptr;
    return local_ ? messagesOverLocalSocket(std::move(socket))
                  : messagesOverTcp(std::move(socket), listeners_->options.silence);
  }
  int waitsFor() const override { return accepted().waitsFor(peer_.rank); }

 private:
  Listeners::AcceptedConnections& accepted() const {
    return local_ ? listeners_->local->accepted : listeners_->net->accepted;
  }

  const std::shared_ptr<Listeners> listeners_;
  const Peer peer_;
  const bool local_;
};

PeerSessions::PeerSessions(const SessionOptions& options, const Logger& log)
    : listeners_(std::make_shared<Listeners>(options, log)) {}

int PeerSessions::rank() const { return listeners_->options.rank; }

void PeerSessions::announce(Peer& self) {
  if (listeners_->local) self.local = listeners_->local->listener.name();
  if (listeners_->net) self.net = listeners_->net->acceptor.address().toWire();
  listeners_->self = self;
}

const Peer& PeerSessions::self() const { return listeners_->self; }

std::shared_ptr<PeerSession> PeerSessions::with(const Peer& peer) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PeerSession>& session = sessions_[peer.rank];
  if (!session)
    session =
        std::make_shared<PeerSession>(rank(), peer.rank, std::make_unique<PeerConnections>(listeners_, peer));
  return session;
}

bool PeerSessions::isLocal(const Peer& peer) const { return listeners_->isLocal(peer); }

std::optional<sockets::SocketAddress> PeerSessions::address() const {
  if (!listeners_->net) return std::nullopt;
  return listeners_->net->acceptor.address();
}

sockets::SocketAddress PeerSessions::addressOf(const Peer& peer) const { return listeners_->addressOf(peer); }

void PeerSessions::abort(int failedRank, std::string_view text) {
  std::vector<std::shared_ptr<PeerSession>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [peer, session] : sessions_)
      if (session) all.push_back(session);
  }
  for (const auto& session : all) session->tellAbort(failedRank, text);
  const auto say = [&](auto* endpoint, auto send) {
    if (endpoint != nullptr)
      endpoint->accepted.tellAll([send, failedRank, reason = std::string(text)](int socket) {
        send(socket, abortMessage(failedRank, reason));
      });
  };
  say(listeners_->local ? &*listeners_->local : nullptr, sendOverLocalSocket);
  say(listeners_->net ? &*listeners_->net : nullptr, sendOverTcp);
}

}  // namespace xylem::transport
