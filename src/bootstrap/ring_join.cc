// How a rank gets into the ring: it checks in at the root, learns where the next rank listens, connects to it
// while the previous rank connects to us, reports to the root, and goes on when the root says that everybody
// is connected.

#include <poll.h>

#include <optional>
#include <thread>

#include "bootstrap/acceptor.h"
#include "bootstrap/interfaces.h"
#include "bootstrap/ring.h"
#include "bootstrap/socket.h"

namespace xylem {
namespace {

// A connection on its way: first TCP's, then ours.
class Caller {
 public:
  Caller(const SocketAddress& to, const SocketAddress* from, const Secret& secret, const Hello& hello)
      : to_(to), secret_(secret), hello_(hello), socket_(startConnect(to, from)), refused_(!socket_) {}

  // True once it is connected and authenticated. Throws if that cannot be any more; see refused().
  bool advance() {
    if (refused_) return false;
    if (!handshake_) {
      pollfd fd{socket_.get(), POLLOUT, 0};
      if (poll(&fd, 1, 0) == 0) return false;
      const int outcome = connectOutcome(socket_.get());
      refused_ = outcome == ECONNREFUSED;
      if (refused_) return false;
      if (outcome != 0)
        throw Error(ResultCode::kRemoteError, "cannot connect to {}: {}", to_.text(), errnoText(outcome));
      handshake_ = Handshake::call(socket_.get(), secret_, hello_);
    }
    if (handshake_->advance() == Handshake::State::kFailed)
      throw Error(ResultCode::kRemoteError, "cannot join at {}: {}", to_.text(), handshake_->reason());
    return handshake_->state() == Handshake::State::kDone;
  }
  // Nobody listens there (yet, or any more).
  bool refused() const { return refused_; }
  pollfd wish() const { return {socket_.get(), handshake_ ? handshake_->events() : short{POLLOUT}, 0}; }
  FileDescriptor take() { return std::move(socket_); }

 private:
  SocketAddress to_;
  Secret secret_;
  Hello hello_;
  FileDescriptor socket_;
  bool refused_;
  std::optional<Handshake> handshake_;
};

constexpr std::chrono::milliseconds kRetryInterval{50};
// The root's clock started with the first rank, so it speaks before ours runs out; this is for its words to
// arrive.
constexpr std::chrono::milliseconds kRootGrace{2000};
constexpr int kLastWordsMilliseconds = 200;

}  // namespace

class RingJoiner {
 public:
  RingJoiner(const UniqueId& id, int rank, int ranks, const Settings& settings, const Logger& log)
      : id_(id),
        settings_(settings),
        log_(log),
        timeout_(settings.integer(Setting::kTimeout)),
        deadline_(Deadline::after(timeout_ + kRootGrace)),
        interface_(chooseInterface(listInterfaces(), settings)),
        acceptor_(anyPort(interface_.address), id.secret(), log),
        ring_(new Ring(rank, ranks, timeout_)) {
    log.info(Subsystem::kBootstrap, "Bootstrap : Using {}:{}", interface_.name, interface_.address.text());
  }

  std::unique_ptr<Ring> join() {
    checkIn();
    try {
      const SocketAddress next = hearNext();
      if (ring_->ranks_ > 1) connectNeighbours(next);
      root_.queue(FrameKind::kReady);
      hearFromRoot(FrameKind::kGo);
    } catch (const Error& error) {
      root_.queueError(error.code(), fmt::format("rank {}: {}", ring_->rank_, error.what()));
      root_.flushWithin(kLastWordsMilliseconds);
      throw;
    }
    return std::move(ring_);
  }

 private:
  static SocketAddress anyPort(SocketAddress address) {
    address.setPort(0);
    return address;
  }
  // The interface that was asked for is also used for calling out.
  const SocketAddress* localAddress() const {
    return settings_.isSet(Setting::kSocketIfname) && !interface_.address.loopback() ? &interface_.address
                                                                                     : nullptr;
  }
  Hello hello(Purpose purpose) const {
    Hello hello;
    hello.purpose = purpose;
    hello.rank = ring_->rank_;
    hello.ranks = ring_->ranks_;
    hello.address = acceptor_.address().toWire();
    return hello;
  }

  void checkIn() {
    for (;;) {
      Caller caller(id_.address(), localAddress(), id_.secret(), hello(Purpose::kCheckIn));
      while (!caller.advance() && !caller.refused()) {
        if (deadline_.passed())
          throw Error(ResultCode::kRemoteError, "timed out after {} s connecting to the root at {}",
                      timeout_.count(), id_.address().text());
        pollfd fd = caller.wish();
        poll(&fd, 1, deadline_.pollMilliseconds());
      }
      if (!caller.refused()) {
        root_ = FrameStream(caller.take());
        return;
      }
      // An exchanged id names a root that was there before the id; NCCL_COMM_ID's may still be starting.
      if (!settings_.isSet(Setting::kCommId) || deadline_.passed())
        throw Error(
            ResultCode::kRemoteError,
            "nobody listens at {} (connection refused): the process that made the id is gone, or its other "
            "ranks have failed or finished without this one",
            id_.address().text());
      std::this_thread::sleep_for(kRetryInterval);
    }
  }

  // The next frame if there is one; throws if it is an error or the root is gone.
  bool pollRoot(FrameKind kind, Frame& frame) {
    switch (root_.read(frame, sizeof(WireAddress))) {
      case FrameStream::Read::kNothing:
        return false;
      case FrameStream::Read::kClosed:
        throw Error(ResultCode::kRemoteError,
                    "the root at {} is gone: the process that made the id (rank 0's, usually) ended",
                    id_.address().text());
      case FrameStream::Read::kFrame:
        break;
    }
    if (frame.header.kind == FrameKind::kError)
      throw Error(frame.header.code == static_cast<int>(ResultCode::kInvalidUsage) ? ResultCode::kInvalidUsage
                                                                                   : ResultCode::kRemoteError,
                  "{}", frame.text());
    if (frame.header.kind != kind)
      throw Error(ResultCode::kInternalError, "the root sent message {} where {} was expected",
                  static_cast<unsigned>(frame.header.kind), static_cast<unsigned>(kind));
    return true;
  }

  Frame hearFromRoot(FrameKind kind) {
    Frame frame;
    root_.flush();
    while (!pollRoot(kind, frame)) {
      if (deadline_.passed())
        throw Error(ResultCode::kRemoteError, "timed out after {} s waiting for the root at {}",
                    timeout_.count(), id_.address().text());
      pollfd fd{root_.fd(), static_cast<short>(root_.flushed() ? POLLIN : POLLIN | POLLOUT), 0};
      poll(&fd, 1, deadline_.pollMilliseconds());
      root_.flush();
    }
    return frame;
  }

  SocketAddress hearNext() {
    const Frame frame = hearFromRoot(FrameKind::kNext);
    WireAddress wire;
    if (frame.payload.size() != sizeof wire)
      throw Error(ResultCode::kInternalError, "the root sent an address of {} bytes", frame.payload.size());
    std::copy(frame.payload.begin(), frame.payload.end(), reinterpret_cast<std::byte*>(&wire));
    return SocketAddress::fromWire(wire);
  }

  void connectNeighbours(const SocketAddress& next) {
    Caller caller(next, localAddress(), id_.secret(), hello(Purpose::kRing));
    bool called = false;
    while (!called || !ring_->previous_.open()) {
      if (!called) called = caller.advance();
      if (caller.refused())
        throw Error(ResultCode::kRemoteError, "rank {} no longer listens at {}: its process ended",
                    ring_->nextRank(), next.text());
      for (Accepted& accepted : acceptor_.advance()) welcome(std::move(accepted));
      if (called && ring_->previous_.open()) break;
      Frame frame;
      pollRoot(FrameKind::kError, frame);
      if (deadline_.passed())
        throw Error(ResultCode::kRemoteError, "timed out after {} s waiting for rank {}", timeout_.count(),
                    called ? ring_->previousRank() : ring_->nextRank());
      std::vector<pollfd> fds{{root_.fd(), POLLIN, 0}};
      if (!called) fds.push_back(caller.wish());
      acceptor_.addTo(fds);
      poll(fds.data(), fds.size(), deadline_.pollMilliseconds());
    }
    ring_->next_ = FrameStream(caller.take());
  }

  void welcome(Accepted accepted) {
    if (accepted.hello.purpose == Purpose::kRing && accepted.hello.rank == ring_->previousRank() &&
        !ring_->previous_.open()) {
      ring_->previous_ = FrameStream(std::move(accepted.socket));
    } else {
      log_.warn("Bootstrap : rank {} expects rank {} and dropped a connection of rank {}", ring_->rank_,
                ring_->previousRank(), accepted.hello.rank);
    }
  }

  const UniqueId& id_;
  const Settings& settings_;
  const Logger& log_;
  const std::chrono::seconds timeout_;
  const Deadline deadline_;
  const Interface interface_;
  Acceptor acceptor_;
  std::unique_ptr<Ring> ring_;
  FrameStream root_;
};

std::unique_ptr<Ring> Ring::join(const UniqueId& id, int rank, int ranks, const Settings& settings,
                                 const Logger& log) {
  return RingJoiner(id, rank, ranks, settings, log).join();
}

}  // namespace xylem
