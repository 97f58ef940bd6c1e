#include "runtime/transport/local/local_transport.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "core/process_state.h"
#include "runtime/sockets/connector.h"
#include "runtime/transport/local/local_dialogue.h"
#include "runtime/transport/local/local_link.h"
#include "runtime/transport/local/local_peer_memory.h"

namespace xylem::transport {
namespace {

using namespace std::chrono_literals;

// A rank that gives up waits until the peer no longer uses its buffers. The peer copies at most 1 MiB at a
// time, which takes about 100 us unless it loses its core meanwhile. If the peer's process neither ends nor
// stops, this is the longest wait.
constexpr auto kMaxVisit = 5s;
// The first checks only yield; later ones sleep.
constexpr int kYieldingChecks = 200;

// One rank's end of a connection to another rank of its host: a local socket, and the memory of the queues
// of both directions. The lower rank connects, the higher one accepts; if the connection does not come soon,
// the higher rank opens a status connection (transport.h). Both ranks show that they belong to the job and
// then hand each other the memory of their queues (local_dialogue.h).

class LocalConnection : public Connection {
 public:
  LocalConnection(const ConnectionRequest& request, LocalKind kind, const Peer& self, const Peer& peer,
                  const StepBytes& stepBytes, std::size_t crossMemoryBytes,
                  std::shared_ptr<LocalAcceptor> acceptor);
  // Tells the peer that this rank closes the connection.
  ~LocalConnection() override;

  bool advance() override;
  bool ready() const override { return complete_; }
  int waitsFor() const override;
  std::string via(QueueUse use, int queue) const override;
  PeerNews news() override;
  void abort(int failedRank, std::string_view text) noexcept override;

 private:
  bool lower() const { return acceptor_->rank() < peer(); }
  bool sameProcess() const { return self_.process == other_.process; }
  pid_t otherPid() const;

  bool meet();
  bool call();
  void checkByStatusLink();
  void makeEnds();
  void withdraw() noexcept;
  bool peerIsInside() const noexcept;
  bool peerStandsStill() noexcept;
  void awaitPeerOutside() noexcept;

  const ConnectionRequest request_;
  const LocalKey key_;
  const Peer self_;
  const Peer other_;
  const StepBytes stepBytes_;
  const std::size_t crossMemoryBytes_;
  const std::shared_ptr<LocalAcceptor> acceptor_;

  FileDescriptor calling_;  // the socket while this rank connects
  std::optional<sockets::Handshake> handshake_;
  sockets::Retries retries_;
  const Deadline patience_ = Deadline::after(kStatusConnectDelay);
  std::optional<LocalLink> statusLink_;
  std::optional<LocalLink> link_;
  std::optional<LocalDialogue> dialogue_;
  // Threads that watch the peer read these while another thread still connects or aborts.
  std::atomic<bool> linked_{false};  // link_ exists
  std::atomic<bool> complete_{false};
  std::atomic<bool> aborted_{false};
  std::optional<LocalPeerMemory> peerMemory_;
};

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
                                         .mailbox = request_.mailbox,
                                         .stepBytes = stepBytes_,
                                         .sameProcess = sameProcess(),
                                         .probes = key_.kind == LocalKind::kP2p && !sameProcess(),
                                         .peerPid = otherPid()});
  if (!dialogue_->advance()) return false;
  if (lower()) acceptor_->claim(key_);  // drop the peer's status connection, if any
  makeEnds();
  return complete_ = true;
}

// Gets the socket to the peer. Returns whether it exists.
bool LocalConnection::meet() {
  FileDescriptor socket;
  if (!lower()) {
    socket = acceptor_->claim(key_);
    if (!socket) {
      checkByStatusLink();
      return false;
    }
  } else {
    if (!call()) return false;
    socket = std::move(calling_);
  }
  handshake_.reset();
  calling_.reset();
  statusLink_.reset();
  link_.emplace(peer(), std::move(socket));
  return true;
}

// Throws if the lower rank, which has not connected yet, gives up or leaves.
void LocalConnection::checkByStatusLink() {
  if (!patience_.passed()) return;
  if (!statusLink_) {
    if (!call()) return;
    statusLink_.emplace(peer(), std::move(calling_));
  }
  const PeerNews news = statusLink_->news();
  if (news.state == PeerState::kThere) return;
  throw Error(ResultCode::kRemoteError, "rank {} {} while it was to connect{}{}", peer(),
              news.state == PeerState::kAborted ? "gave up" : "closed its connections",
              news.text.empty() ? "" : ": ", news.text);
}

// Connects to the peer. Returns true once calling_ is connected and authenticated.
bool LocalConnection::call() {
  try {
    if (!handshake_) {
      if (!retries_.due()) return false;
      calling_ = connectLocal(other_.local);
      if (!calling_) return false;
      sockets::Hello hello;
      hello.purpose = sockets::Purpose::kLocal;
      hello.rank = acceptor_->rank();
      hello.detail = key_.detail();
      handshake_ = sockets::Handshake::call(calling_.get(), acceptor_->secret(), hello);
    }
    const sockets::Handshake::State state = handshake_->advance();
    if (state == sockets::Handshake::State::kDone) return true;
    if (state == sockets::Handshake::State::kFailed) {
      // An acceptor with too many connection attempts closes some of them: try again.
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

// The peer's process id in this process's PID namespace: as the peer states it if it is in the same
// namespace, otherwise as the kernel translates it; 0 if it has none here.
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
  if (request_.mailbox) mailbox_ = reinterpret_cast<const Mailbox*>(outgoing->data());
  for (std::size_t i = 0; i < request_.sends.size(); ++i)
    senders_.push_back(std::make_unique<SendEnd>(peer(), queue(outgoing, i), memory_));
  for (std::size_t i = 0; i < request_.receives.size(); ++i)
    receivers_.push_back(std::make_unique<RecvEnd>(peer(), queue(incoming, i), memory_));
}

// Until the connection is complete, advance() reads the messages.
PeerNews LocalConnection::news() { return complete_ ? link_->news() : PeerNews{}; }

void LocalConnection::abort(int failedRank, std::string_view text) noexcept {
  if (!linked_.load(std::memory_order_acquire)) return;
  if (!aborted_.exchange(true)) link_->sendAbort(failedRank, text);
  // Wait even if another thread has told the peer: the caller may free its buffers once this returns.
  if (!complete_.load(std::memory_order_acquire)) return;
  withdraw();
  awaitPeerOutside();
}

void LocalConnection::withdraw() noexcept {
  for (const auto& sender : senders_) sender->withdraw();
  if (request_.mailbox) reinterpret_cast<Mailbox*>(request_.mailbox->data())->withdraw();
}

bool LocalConnection::peerIsInside() const noexcept {
  if (mailbox_ != nullptr && mailbox_->visits()) return true;
  return std::any_of(senders_.begin(), senders_.end(), [](const auto& end) { return end->beingRead(); });
}

// Returns whether the peer's process has ended or has been stopped.
bool LocalConnection::peerStandsStill() noexcept {
  try {
    const PeerState state = link_->news().state;
    return state == PeerState::kLost || state == PeerState::kClosed || processIsStopped(otherPid());
  } catch (const std::exception&) {
    return false;  // its last message is invalid
  }
}

void LocalConnection::awaitPeerOutside() noexcept {
  const auto end = std::chrono::steady_clock::now() + kMaxVisit;
  for (int checks = 0; peerIsInside(); ++checks) {
    if (checks < kYieldingChecks) {
      std::this_thread::yield();
      continue;
    }
    // A thread of this process ends its visit in any case.
    if (!sameProcess() && (peerStandsStill() || std::chrono::steady_clock::now() > end)) return;
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

Viability LocalTransport::isViable(const Peer& self, const Peer& other) const {
  if (self.hostHash != other.hostHash) return {false, fmt::format("rank {} is on another host", other.rank)};
  if (self.networkNamespace != other.networkNamespace)
    return {
        false,
        fmt::format("rank {} is in another network namespace of this host, where local sockets do not reach",
                    other.rank)};
  return {true, self.process == other.process ? "same process" : "same host"};
}

void LocalTransport::announce(Peer& self) {
  self.local = acceptor_->name();
  self_ = self;
}

std::unique_ptr<Connection> LocalTransport::open(const ConnectionRequest& request, const Peer& peer) {
  return std::make_unique<LocalConnection>(request, kind_, self_, peer, stepBytes_, crossMemoryBytes_,
                                           acceptor_);
}

}  // namespace xylem::transport
