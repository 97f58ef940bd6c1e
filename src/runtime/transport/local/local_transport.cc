#include "runtime/transport/local/local_transport.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "core/process_state.h"
#include "runtime/transport/local/local_dialogue.h"
#include "runtime/transport/local/local_peer_memory.h"

namespace xylem::transport {
namespace {

using namespace std::chrono_literals;

// The first checks of a rank that gives up, whether the peer still uses its buffers, only yield; later ones
// sleep.
constexpr int kYieldingChecks = 200;

// One rank's end of a connection to another rank of its host: a channel of their session, and the memory of
// the queues of both directions, which the ranks hand each other (local_dialogue.h).

class LocalConnection : public Connection {
 public:
  LocalConnection(const ConnectionRequest& request, ChannelKind kind, const Peer& self, const Peer& peer,
                  const StepBytes& stepBytes, const CopyChoices& choices, const TellChange& tell,
                  std::shared_ptr<PeerSession> session)
      : Connection(request.peer),
        request_(request),
        kind_(kind),
        self_(self),
        other_(peer),
        stepBytes_(stepBytes),
        choices_(choices),
        tell_(tell),
        channel_(std::move(session), {request.purpose, kind}) {}
  // Tells the peer that this rank closes the connection.
  ~LocalConnection() override;

  bool advance() override;
  bool ready() const override { return complete_.load(std::memory_order_acquire); }
  int waitsFor() const override;
  std::string via(QueueUse use, int queue) const override;
  PeerNews news() override;
  PeerSession* session() const override { return &channel_.session(); }
  void withdraw() noexcept override;
  void awaitRelease(const Deadline& deadline) noexcept override;

 private:
  bool sameProcess() const { return self_.process == other_.process; }
  // Kernels of GPUs, which have SHM, know narrow ones.
  Slots slots() const {
    return kind_ == ChannelKind::kP2p && choices_.widensSlots() ? Slots::kWide : Slots::kNarrow;
  }
  pid_t otherPid() const;

  void makeEnds();
  bool peerIsReading() const noexcept;
  bool peerMayWrite() const noexcept;
  bool peerStandsStill() noexcept;

  const ConnectionRequest request_;
  const ChannelKind kind_;
  const Peer self_;
  const Peer other_;
  const StepBytes stepBytes_;
  const CopyChoices choices_;
  const TellChange tell_;

  SessionChannel channel_;
  std::optional<LocalDialogue> dialogue_;
  // Threads that watch the peer read it while another thread still connects.
  std::atomic<bool> complete_{false};
  std::optional<LocalPeerMemory> peerMemory_;
};

LocalConnection::~LocalConnection() {
  if (complete_) channel_.close({});
}

int LocalConnection::waitsFor() const {
  // Another connection of the session may have read the message for which this one waits.
  return channel_.hasMessage() ? -1 : channel_.session().waitsFor();
}

std::string LocalConnection::via(QueueUse, int) const {
  if (kind_ == ChannelKind::kShm) return "SHM/direct/direct";
  return sameProcess() ? "P2P/direct pointer" : "P2P/IPC";
}

bool LocalConnection::advance() {
  if (complete_) return true;
  if (!dialogue_) {
    if (!channel_.connected()) return false;
    dialogue_.emplace(channel_, LocalTerms{.sends = request_.sends.size(),
                                           .receives = request_.receives.size(),
                                           .mailbox = request_.mailbox,
                                           .stepBytes = stepBytes_,
                                           .slots = slots(),
                                           .sameProcess = sameProcess(),
                                           .probes = kind_ == ChannelKind::kP2p && !sameProcess(),
                                           .peerPid = otherPid()});
  }
  if (!dialogue_->advance()) return false;
  makeEnds();
  return complete_ = true;
}

// The peer's process id in this process's PID namespace: as the peer states it if it is in the same
// namespace, otherwise as the kernel translates it; 0 if it has none here.
pid_t LocalConnection::otherPid() const {
  if (self_.pidNamespace == other_.pidNamespace && other_.pid > 0) return static_cast<pid_t>(other_.pid);
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(channel_.session().socket(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return 0;
  return credentials.pid;
}

void LocalConnection::makeEnds() {
  const SharedMemory* const incoming = dialogue_->incoming();
  const SharedMemory* const outgoing = dialogue_->outgoing();
  const auto queue = [this](const SharedMemory* memory, std::size_t index) {
    return queueIn(memory->data() + index * queueBytes(stepBytes_, slots()), stepBytes_, slots());
  };
  TellChange tellWhose;
  if (tell_)
    tellWhose = [this](std::string_view what, const WayChange& change) {
      tell_(fmt::format("{} rank {}", what, peer()), change);
    };
  if (kind_ == ChannelKind::kP2p)
    memory_ = &peerMemory_.emplace(channel_.session(),
                                   LocalPeerMemory::Reach{.sameProcess = sameProcess(),
                                                          .peerReads = dialogue_->peerReads(),
                                                          .process = sameProcess() ? -1 : otherPid(),
                                                          .choices = choices_,
                                                          .reads = dialogue_->reads(),
                                                          .decides = self_.rank < other_.rank,
                                                          .tell = std::move(tellWhose)});
  if (request_.mailbox) mailbox_ = reinterpret_cast<const Mailbox*>(outgoing->data());
  for (std::size_t i = 0; i < request_.sends.size(); ++i)
    senders_.push_back(std::make_unique<SendEnd>(peer(), queue(outgoing, i), memory_));
  for (std::size_t i = 0; i < request_.receives.size(); ++i)
    receivers_.push_back(std::make_unique<RecvEnd>(peer(), queue(incoming, i), memory_));
}

// Until the connection is complete, advance() reports how the peer is.
PeerNews LocalConnection::news() { return ready() ? channel_.news() : PeerNews{}; }

void LocalConnection::withdraw() noexcept {
  if (!ready()) return;
  for (const auto& sender : senders_) sender->withdraw();
  for (const auto& receiver : receivers_) receiver->withdraw();
  if (request_.mailbox) reinterpret_cast<Mailbox*>(request_.mailbox->data())->withdraw();
}

bool LocalConnection::peerIsReading() const noexcept {
  return std::any_of(senders_.begin(), senders_.end(), [](const auto& end) { return end->beingRead(); });
}
bool LocalConnection::peerMayWrite() const noexcept {
  if (mailbox_ != nullptr && mailbox_->visits()) return true;
  return std::any_of(receivers_.begin(), receivers_.end(),
                     [](const auto& end) { return end->beingWritten(); });
}

// Returns whether the peer's process has ended, or has been stopped where it only reads: one that goes on later must not write then.
bool LocalConnection::peerStandsStill() noexcept {
  try {
    const PeerState state = channel_.news().state;
    return state == PeerState::kLost || state == PeerState::kClosed ||
           (!peerMayWrite() && processIsStopped(otherPid()));
  } catch (const std::exception&) {
    return false;  // its last message is invalid
  }
}

void LocalConnection::awaitRelease(const Deadline& deadline) noexcept {
  if (!ready()) return;
  for (int checks = 0; peerIsReading() || peerMayWrite(); ++checks) {
    if (checks < kYieldingChecks) {
      std::this_thread::yield();
      continue;
    }
    // A thread of this process ends its visit in any case.
    if (!sameProcess() && (peerStandsStill() || deadline.passed())) return;
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

// A GPU cannot follow a reference into the memory of another rank, and a host cannot read a GPU's memory.
Viability P2pTransport::isViable(const Peer& self, const Peer& other) const {
  for (const Peer* const rank : {&self, &other})
    if (rank->gpu != 0)
      return {false,
              fmt::format("rank {} is on a GPU, and data of GPUs goes through pinned memory of the host",
                          rank->rank)};
  return LocalTransport::isViable(self, other);
}

std::unique_ptr<Connection> LocalTransport::open(const ConnectionRequest& request, const Peer& peer) {
  return std::make_unique<LocalConnection>(request, kind_, sessions().self(), peer, stepBytes_, choices_,
                                           tell_, sessions().with(peer));
}

}  // namespace xylem::transport
