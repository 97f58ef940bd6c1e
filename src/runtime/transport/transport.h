#pragma once
// The interface of all transports: a transport makes queues between two ranks, or says why it cannot.
//
//   transport.announce(self);                               // then all ranks gather all Peers
//   if (const Viability v = transport.isViable(self, peers[next]); !v.viable) log(v.reason);
//   auto connection = transport.open({.peer = next, .sends = {0, 0}}, peers[next]);
//   while (!connection->advance()) ...        // or connectAll(), for several and with a deadline
//   connection->sender(1).send(...);
//
// Both ranks of a pair open the connection, with requests that mirror each other, at any time and in any
// order. Only advance() depends on the peer, and it returns instead of waiting. Data then flows through the
// queues; the transport has no part in it.

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/error.h"
#include "runtime/transport/local/mailbox.h"
#include "runtime/transport/local/shared_memory.h"
#include "runtime/transport/peer.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"
#include "runtime/transport/session/peer_sessions.h"

namespace xylem::transport {

struct Viability {
  bool viable = false;
  std::string reason;
};

// Purposes tell the connections of a pair of ranks apart.
constexpr std::uint32_t kForCollectives = 0, kForTransfers = 1, kForMailboxes = 2, kForChecks = 3,
                        kForProxies = 4;

// The network device at this rank's end of a queue; only the network transport uses it.
struct QueueNic {
  QueueNic(int number = 0) : device(number) {}  // NOLINT: a number is the device of that number
  int device;
  // On a GPU: the device reads and writes its memory itself (GPU Direct RDMA), and data that it has written there must be flushed
  // before the GPU may read it.
  bool gdr = false;
  bool flush = false;
  // The rank of this host whose proxy thread uses the device for what is sent, and whose GPU `gdr` is about then; -1: this rank.
  int proxy = -1;
};

// Queues wanted between this rank and `peer`.
struct ConnectionRequest {
  int peer = -1;
  std::uint32_t purpose = kForCollectives;
  // One queue per element.
  std::vector<QueueNic> sends;
  std::vector<QueueNic> receives;
  // The memory of this rank's mailbox, exchanged for the peer's instead of queues. Only P2P can do that.
  std::shared_ptr<SharedMemory> mailbox;
};

// Whether this rank sends or receives through a queue.
enum class QueueUse { kSend, kReceive };

class Connection {
 public:
  virtual ~Connection() = default;

  int peer() const { return peer_; }
  // Continues to set up as far as possible without waiting; true once the queues can be used. Throws if they
  // can never be used.
  virtual bool advance() = 0;
  // A descriptor to poll for reading while advance() returns false; -1: call advance() again after a
  // millisecond.
  virtual int waitsFor() const { return -1; }

  SendEnd& sender(int index) { return *senders_[static_cast<std::size_t>(index)]; }
  RecvEnd& receiver(int index) { return *receivers_[static_cast<std::size_t>(index)]; }
  int senders() const { return static_cast<int>(senders_.size()); }
  int receivers() const { return static_cast<int>(receivers_.size()); }
  // The peer's mailbox, and access to the buffers that its descriptors name.
  const Mailbox& mailbox() const { return *mailbox_; }
  PeerMemory& memory() const { return *memory_; }
  // How a queue is connected, as NCCL logs it after `via`: `P2P/direct pointer`, `SHM/direct/direct`,
  // `NET/Socket/0`.
  virtual std::string via(QueueUse use, int queue) const = 0;

  // Returns whether the connection is set up.
  virtual bool ready() const = 0;
  // The state of the peer. Does not wait, but makes a system call.
  virtual PeerNews news() = 0;
  // A rank of this host without which what this rank has sent does not go on, beside the peer; -1: none.
  virtual int needsBeside() { return -1; }
  // The session with the peer, over which the connection is set up and closed; null if the other end is no
  // rank.
  virtual PeerSession* session() const { return nullptr; }

  // A rank that gives up gets its buffers back in two steps, of which only the second one waits. Any thread
  // may take them, also while another thread sets the connection up or uses it. After the first one, neither
  // the peer nor the network begins to use buffers that this rank has shared over the connection or posted;
  // once the second one returns, neither still does. If a peer's process neither ends nor stops, it waits
  // until the deadline.
  virtual void withdraw() noexcept {}
  virtual void awaitRelease(const Deadline&) noexcept {}
  // Both steps, after this rank has told the peer why it gives up.
  void abort(int failedRank, std::string_view text) noexcept;

 protected:
  explicit Connection(int peer) : peer_(peer) {}
  std::vector<std::unique_ptr<SendEnd>> senders_;
  std::vector<std::unique_ptr<RecvEnd>> receivers_;
  const Mailbox* mailbox_ = nullptr;
  PeerMemory* memory_ = nullptr;

 private:
  int peer_;
};

// How long a rank that gives up waits until its peers no longer use its buffers. A peer copies at most 4 MiB
// at a time, which takes less than a millisecond unless it loses its core meanwhile.
constexpr std::chrono::seconds kReleaseTime{5};
// How long it tries to tell them why, if their connections do not take the message at once.
constexpr std::chrono::milliseconds kAbortTime{100};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual Viability isViable(const Peer& self, const Peer& other) const = 0;
  // Writes where this rank accepts sessions into `self`.
  void announce(Peer& self) { sessions_->announce(self); }
  // Starts to connect and returns at once. The peer must open the mirror image.
  virtual std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) = 0;
  // The sessions over which this transport sets its queues up; transports of a rank share them.
  PeerSessions& sessions() const { return *sessions_; }

 protected:
  explicit Transport(std::shared_ptr<PeerSessions> sessions) : sessions_(std::move(sessions)) {}

 private:
  const std::shared_ptr<PeerSessions> sessions_;
};

// How long to wait while connecting. `look`, called every few milliseconds, checks for failures elsewhere
// and throws if there are any.
struct Waiting {
  Deadline deadline;
  std::function<void()> look;
};

// Advances all connections until all are ready. Throws, naming the peers that are missing, once the deadline
// has passed.
void connectAll(std::span<Connection* const> connections, const Waiting& waiting);

}  // namespace xylem::transport
