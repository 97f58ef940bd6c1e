#include "runtime/transport/local/local_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/process_state.h"

namespace xylem {
namespace {

using namespace std::chrono_literals;

// A peer is in our buffers for a piece of at most 1 MiB at a time, which takes some 100 us, unless it loses
// its core meanwhile. A process that is neither seen to end nor to stop is waited for so long.
constexpr auto kLongestVisit = 5s;
constexpr int kQuickLooks = 200;

}  // namespace

LocalConnection::LocalConnection(const ConnectionRequest& request, LocalKind kind, const Peer& self,
                                 const Peer& peer, const StepBytes& stepBytes, std::size_t crossMemoryBytes,
                                 std::shared_ptr<LocalAcceptor> acceptor)
    : Connection(request.peer),
      request_(request),
      key_{request.peer, request.purpose, kind},
      self_(self),
      other_(peer),
      stepBytes_(stepBytes),
      crossMemoryBytes_(crossMemoryBytes),
      acceptor_(std::move(acceptor)) {
  if (request.peer == acceptor_->rank())
    throw Error(ResultCode::kInternalError, "rank {} cannot connect to itself", request.peer);
}

LocalConnection::~LocalConnection() {
  if (complete_ && !aborted_) link_->sendBye();
}

int LocalConnection::waitsFor() const {
  if (link_) return link_->socket();
  if (!lower()) return acceptor_->has(key_) ? -1 : acceptor_->fd();
  return handshake_ && handshake_->events() == POLLIN ? calling_.get() : -1;
}

std::string LocalConnection::via(QueueUse, int) const {
  if (key_.kind == LocalKind::kShm) return "SHM/direct/direct";
  return sameProcess() ? "P2P/direct pointer" : "P2P/IPC";
}

bool LocalConnection::advance() {
  if (complete_) return true;
  if (!link_) {
    if (!meet()) return false;
    linked_.store(true, std::memory_order_release);
  }
  if (!dialogue_)
    dialogue_.emplace(*link_, LocalTerms{.sends = request_.sends.size(),
                                         .receives = request_.receives.size(),
                                         .board = request_.board,
                                         .stepBytes = stepBytes_,
                                         .sameProcess = sameProcess(),
                                         .probes = key_.kind == LocalKind::kP2p && !sameProcess(),
                                         .peerPid = otherPid()});
  if (!dialogue_->advance()) return false;
  if (lower()) acceptor_->claim(key_);  // the peer's knock, if it has
  makeEnds();
  return complete_ = true;
}

bool LocalConnection::meet() {
  FileDescriptor socket;
  if (!lower()) {
    socket = acceptor_->claim(key_);
    if (!socket) {
      knock();
      return false;
    }
  } else {
    if (!call()) return false;
    socket = std::move(calling_);
  }
  handshake_.reset();
  calling_.reset();
  knock_.reset();
  link_.emplace(peer(), std::move(socket));
  return true;
}

void LocalConnection::knock() {
  if (!patience_.passed()) return;
  if (!knock_) {
    if (!call()) return;
    knock_.emplace(peer(), std::move(calling_));
  }
  const PeerNews news = knock_->news();
  if (news.state == PeerState::kThere) return;
  throw Error(ResultCode::kRemoteError, "rank {} {} while it was to connect{}{}", peer(),
              news.state == PeerState::kAborted ? "gave up" : "closed its connections",
              news.text.empty() ? "" : ": ", news.text);
}

bool LocalConnection::call() {
  try {
    if (!handshake_) {
      if (!retries_.due()) return false;
      calling_ = connectLocal(other_.local);
      if (!calling_) return false;
      Hello hello;
      hello.purpose = Purpose::kLocal;
      hello.rank = acceptor_->rank();
      hello.detail = key_.detail();
      handshake_ = Handshake::call(calling_.get(), acceptor_->secret(), hello);
    }
    const Handshake::State state = handshake_->advance();
    if (state == Handshake::State::kDone) return true;
    if (state == Handshake::State::kFailed) {
      // Where too many call at once, some are cut off.
      if (!handshake_->closed() || !retries_.again())
        throw Error(ResultCode::kRemoteError, "{}", handshake_->reason());
      handshake_.reset();
      calling_.reset();
    }
    return false;
  } catch (const Error& error) {
    throw Error(error.code(), "cannot connect to rank {}: {}", peer(), error.what());
  }
}

// By its own words if they mean something here, else as the kernel translates it; 0 if it has none here.
pid_t LocalConnection::otherPid() const {
  if (self_.pidNamespace == other_.pidNamespace && other_.pid > 0) return static_cast<pid_t>(other_.pid);
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(link_->socket(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return 0;
  return credentials.pid;
}

void LocalConnection::makeEnds() {
  const SharedMemory* const incoming = dialogue_->incoming();
  const SharedMemory* const outgoing = dialogue_->outgoing();
  const auto queue = [this](const SharedMemory* memory, std::size_t index) {
    return queueIn(memory->data() + index * queueBytes(stepBytes_), stepBytes_);
  };
  if (key_.kind == LocalKind::kP2p)
    memory_ = &peerMemory_.emplace(
        *link_, LocalPeerMemory::Reach{sameProcess(), dialogue_->peerReads() ? crossMemoryBytes_ : 0,
                                       sameProcess() ? -1 : otherPid()});
  if (request_.board) board_ = reinterpret_cast<const Board*>(outgoing->data());
  for (std::size_t i = 0; i < request_.sends.size(); ++i)
    senders_.push_back(std::make_unique<SendEnd>(peer(), queue(outgoing, i), memory_));
  for (std::size_t i = 0; i < request_.receives.size(); ++i)
    receivers_.push_back(std::make_unique<RecvEnd>(peer(), queue(incoming, i), memory_));
}

// Until it is complete, advance reads what comes.
PeerNews LocalConnection::news() { return complete_ ? link_->news() : PeerNews{}; }

void LocalConnection::abort(int culprit, std::string_view text) noexcept {
  if (!linked_.load(std::memory_order_acquire)) return;
  if (!aborted_.exchange(true)) link_->sendAbort(culprit, text);
  // Also when another thread has told the peer already: the caller's buffers may go once we return.
  if (!complete_.load(std::memory_order_acquire)) return;
  withdraw();
  awaitPeerOutside();
}

void LocalConnection::withdraw() noexcept {
  for (const auto& sender : senders_) sender->withdraw();
  if (request_.board) reinterpret_cast<Board*>(request_.board->data())->withdraw();
}

bool LocalConnection::peerIsInside() const noexcept {
  if (board_ != nullptr && board_->visits()) return true;
  return std::any_of(senders_.begin(), senders_.end(), [](const auto& end) { return end->beingRead(); });
}

// It has ended, or has been stopped.
bool LocalConnection::peerStandsStill() noexcept {
  try {
    const PeerState state = link_->news().state;
    return state == PeerState::kLost || state == PeerState::kClosed || processIsStopped(otherPid());
  } catch (const std::exception&) {
    return false;  // what it said last makes no sense
  }
}

void LocalConnection::awaitPeerOutside() noexcept {
  const auto end = std::chrono::steady_clock::now() + kLongestVisit;
  for (int looks = 0; peerIsInside(); ++looks) {
    if (looks < kQuickLooks) {
      std::this_thread::yield();
      continue;
    }
    // A thread of this process comes out in any case.
    if (!sameProcess() && (peerStandsStill() || std::chrono::steady_clock::now() > end)) return;
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace xylem
