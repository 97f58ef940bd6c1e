#include "runtime/sockets/pending_connections.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "core/error.h"

namespace xylem::sockets {
namespace {

// Bounds what one call accepts, so that its owner gets to serve the connections that it has.
constexpr int kMaxPerCall = 64;
// Out of descriptors, the listener is polled only this often: it would stay readable all the time.
constexpr std::chrono::milliseconds kPause{100};

constexpr const char* kTooSlow = "it did not say who it is";
constexpr const char* kNoProof = "it did not show that it belongs to this job";
constexpr const char* kTooLate = "this end was through before it had shown that it belongs to this job";
constexpr const char* kTooMany = "too many connections at once that did not say who they are";
constexpr const char* kTooManyProofs = "too many connections at once that did not show who they are";

// Ranks need one round trip for their proof, but their thread may be kept from sending it, for instance by a
// busy machine. A rank does not notice that its proof comes too late: it believes to have a connection, which
// then breaks. Hence a long time.
constexpr std::chrono::seconds kProofPatience{60};

// The pending connections of all owners in this process.
std::atomic<std::size_t> pendingInProcess{0};
// Each owner may have this many, whatever the others have.
constexpr std::size_t kReserved = 8;

// Pending connections may take a quarter of the files that this process may open.
std::size_t maxPendingInProcess() {
  static const std::size_t most = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::size_t{4096};
    return std::max<std::size_t>(limit.rlim_cur / 4, 16);
  }();
  return most;
}

}  // namespace

void DroppedConnectionLog::dropped(const std::string& from, std::string_view reason) {
  ++count_;
  if (count_ < kMaxSingleWarnings) {
    log_.warn("{} : dropped a connection from {}: {}", who_, from, reason);
  } else if (count_ == kMaxSingleWarnings) {
    log_.warn(
        "{} : dropped a connection from {}: {}; it is the {}th here, further ones are listed with "
        "NCCL_DEBUG=INFO only",
        who_, from, reason, count_);
  } else if (count_ == nextWarning_) {
    nextWarning_ *= 10;
    log_.warn("{} : dropped a connection from {}: {}; there have been {} here", who_, from, reason, count_);
  } else {
    log_.info(Subsystem::kBootstrap, "{} : dropped a connection from {}: {}", who_, from, reason);
  }
}

PendingConnections::PendingConnections(int listener, std::function<AcceptResult()> accept,
                                       const Secret& secret, const Logger& log, const char* who)
    : listener_(listener),
      accept_(std::move(accept)),
      secret_(secret),
      who_(who),
      log_(log),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      dropped_(log, who) {
  if (!epoll_ || !bell_)
    throw Error(ResultCode::kSystemError, "cannot watch for connections: {}", errnoText(errno));
  watch(EPOLL_CTL_ADD, listener_, EPOLLIN, nullptr);
  watch(EPOLL_CTL_ADD, bell_.get(), EPOLLIN, &bell_);
}

PendingConnections::~PendingConnections() {
  try {
    for (PendingList* list : {&silent_, &proving_})
      while (!list->empty()) drop(list->front(), kTooLate);
  } catch (const std::exception&) {
    // No memory for the log: the others are dropped without a line.
    pendingInProcess -= silent_.size() + proving_.size();
  }
}

void PendingConnections::watch(int operation, int fd, std::uint32_t events, void* tag) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
    throw Error(ResultCode::kSystemError, "cannot watch a connection: {}", errnoText(errno));
}

std::vector<Accepted> PendingConnections::advance() {
  const std::lock_guard lock(mutex_);
  moveOn();
  eventfd_t rings = 0;
  if (rung_) eventfd_read(bell_.get(), &rings);
  rung_ = false;
  return std::exchange(accepted_, {});
}

bool PendingConnections::advanceInBackground() {
  const std::lock_guard lock(mutex_);
  const bool more = moveOn();
  if (!accepted_.empty() && !rung_) rung_ = eventfd_write(bell_.get(), 1) == 0;
  return more;
}

void PendingConnections::tellAll(std::function<void(int socket)> say) {
  const std::lock_guard lock(mutex_);
  say_ = std::move(say);
  for (const Accepted& caller : accepted_) say_(caller.socket.get());
}

bool PendingConnections::hasUnauthenticated() const {
  const std::lock_guard lock(mutex_);
  return !silent_.empty() || !proving_.empty();
}

void PendingConnections::drop(const Accepted& caller, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  dropped_.dropped(caller.from, reason);
}

// One pass over everything that is ready. A connection is silent_ until its hello has come, then proving_
// until it has sent its proof; both lists are ordered by age, so that deadlines and limits look at the front
// only. True if there may be more to do at once.
bool PendingConnections::moveOn() {
  if (pausedUntil_ && pausedUntil_->passed()) {
    pausedUntil_.reset();
    watch(EPOLL_CTL_MOD, listener_, EPOLLIN, nullptr);
  }
  std::array<epoll_event, kMaxPerCall> events;
  const int ready = epoll_wait(epoll_.get(), events.data(), kMaxPerCall, 0);
  bool listenerReady = false;
  for (int i = 0; i < ready; ++i) {
    void* const tag = events[static_cast<std::size_t>(i)].data.ptr;
    if (tag == nullptr)
      listenerReady = true;
    else if (tag != &bell_)
      advanceHandshake(*static_cast<Pending*>(tag));
  }
  // Others are dropped only now: the events above may point to any of them.
  const bool more = (listenerReady && acceptSome()) || ready == kMaxPerCall;
  dropLate(silent_, kTooSlow);
  dropLate(proving_, kNoProof);
  dropTooMany(silent_, kTooMany);
  dropTooMany(proving_, kTooManyProofs);
  return more;
}

// True if there may be more to accept.
bool PendingConnections::acceptSome() {
  for (int i = 0; i < kMaxPerCall; ++i) {
    AcceptResult accepted = accept_();
    switch (accepted.kind) {
      case AcceptResult::Kind::kNone:
        return false;
      case AcceptResult::Kind::kRefused:
        dropped_.dropped(accepted.from, accepted.reason);
        break;
      case AcceptResult::Kind::kConnection:
        add(std::move(accepted));
        break;
      case AcceptResult::Kind::kNoDescriptors:
        if (dropOldest()) break;
        pauseAccepting();
        return false;
    }
  }
  return true;
}

void PendingConnections::add(AcceptResult accepted) {
  const int fd = accepted.socket.get();
  silent_.push_back({std::move(accepted.socket), std::move(accepted.from), Handshake::answer(fd, secret_),
                     Deadline::after(kPatience)});
  ++pendingInProcess;
  silent_.back().self = std::prev(silent_.end());
  advanceHandshake(silent_.back());
}

// Afterwards `pending` may be gone: accepted or dropped.
void PendingConnections::advanceHandshake(Pending& pending) {
  Handshake& handshake = pending.handshake;
  switch (handshake.advance()) {
    case Handshake::State::kDone:
      if (pending.events != 0) watch(EPOLL_CTL_DEL, pending.socket.get(), 0, nullptr);
      accepted_.push_back({std::move(pending.socket), handshake.hello(), std::move(pending.from)});
      if (say_) say_(accepted_.back().socket.get());
      --pendingInProcess;
      (pending.hasHello ? proving_ : silent_).erase(pending.self);
      return;
    case Handshake::State::kFailed:
      return drop(pending, handshake.reason());
    case Handshake::State::kUnderWay:
      break;
  }
  if (const short wanted = handshake.events(); wanted != pending.events) {
    watch(pending.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, pending.socket.get(),
          wanted == POLLOUT ? EPOLLOUT : EPOLLIN, &pending);
    pending.events = wanted;
  }
  if (pending.hasHello || !handshake.hasHello()) return;
  pending.hasHello = true;
  pending.deadline = Deadline::after(kProofPatience);
  proving_.splice(proving_.end(), silent_, pending.self);
}

void PendingConnections::drop(Pending& pending, std::string_view reason) {
  dropped_.dropped(pending.from, reason);
  // Closing alone would leave it in epoll's set if a child of this process still has the descriptor.
  if (pending.events != 0) watch(EPOLL_CTL_DEL, pending.socket.get(), 0, nullptr);
  --pendingInProcess;
  (pending.hasHello ? proving_ : silent_).erase(pending.self);
}

// Drops the oldest connection of `list`, unless bytes that have just come complete its step of the handshake.
void PendingConnections::dropUnlessProven(PendingList& list, std::string_view reason) {
  Pending& oldest = list.front();
  const std::size_t before = list.size();
  advanceHandshake(oldest);
  if (list.size() == before) drop(oldest, reason);
}

void PendingConnections::dropLate(PendingList& list, std::string_view reason) {
  while (!list.empty() && list.front().deadline.passed()) dropUnlessProven(list, reason);
}

void PendingConnections::dropTooMany(PendingList& list, std::string_view reason) {
  while (list.size() > kMaxPerState ||
         (list.size() > kReserved && pendingInProcess.load() > maxPendingInProcess()))
    dropUnlessProven(list, reason);
}

bool PendingConnections::dropOldest() {
  PendingList& list = silent_.empty() ? proving_ : silent_;
  if (list.empty()) return false;
  drop(list.front(), silent_.empty() ? kTooManyProofs : kTooMany);
  return true;
}

void PendingConnections::pauseAccepting() {
  watch(EPOLL_CTL_MOD, listener_, 0, nullptr);
  pausedUntil_ = Deadline::after(kPause);
  if (!std::exchange(warned_, true))
    log_.warn("{} : cannot accept a connection: {}", who_, errnoText(EMFILE));
}

Acceptor::Acceptor(const SocketAddress& address, const Secret& secret, const Logger& log, const char* who,
                   const Congestion& congestion)
    : listener_(listenTcp(address, congestion)),
      address_(SocketAddress::boundTo(listener_.get())),
      pendingConnections_(
          listener_.get(), [this] { return acceptTcp(listener_.get()); }, secret, log, who) {}

}  // namespace xylem::sockets
