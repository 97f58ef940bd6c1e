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

namespace xylem::transport {

struct Viability {
  bool viable = false;
  std::string reason;
};

// Purposes tell the connections of a pair of ranks apart.
constexpr std::uint32_t kForCollectives = 0, kForTransfers = 1, kForMailboxes = 2, kForChecks = 3;

// Queues wanted between this rank and `peer`.
struct ConnectionRequest {
  int peer = -1;
  std::uint32_t purpose = kForCollectives;
  // One queue per element. The element is the number of the network device at this rank's end; only the
  // network transport uses it.
  std::vector<int> sends;
  std::vector<int> receives;
  // The memory of this rank's mailbox, exchanged for the peer's instead of queues. Only P2P can do that.
  std::shared_ptr<SharedMemory> mailbox;
};

// The state of the peer of a connection.
enum class PeerState {
  kThere,
  kClosed,   // it closed the connection in order; steps that are in the queues remain valid
  kLost,     // it vanished: its process ended, or its host cannot be reached
  kAborted,  // it gave up and said why
};

struct PeerNews {
  PeerState state = PeerState::kThere;
  int failedRank = -1;  // kAborted: the rank that failed first, as far as the peer knows
  std::string text;     // kAborted: what happened
  std::string how;      // kLost: details, if any are known
};

// The lower rank of a pair connects to the higher one. A higher rank that has waited this long opens a
// status connection to the lower one. It carries no data: it breaks if the lower rank ends, and carries an
// abort if the lower rank gives up.
constexpr std::chrono::milliseconds kStatusConnectDelay{500};

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
  // Asks the peer whether it is at work, for connections over which the system does not report a stopped
  // process. Returns false if the connection cannot ask. The peer answers when it calls news(), which every
  // rank that waits does all the time.
  virtual bool ask() noexcept { return false; }
  // Returns whether a call of news() has received the answer to the last ask().
  virtual bool answered() { return false; }
  // Tells the peer that this rank gives up because of `failedRank`, if they are connected. Any thread may
  // call it, also while another thread sets the connection up or uses it. Once it returns, neither the peer
  // nor the network uses buffers that this rank has shared over the connection or posted.
  virtual void abort(int failedRank, std::string_view text) noexcept = 0;

 protected:
  explicit Connection(int peer) : peer_(peer) {}
  std::vector<std::unique_ptr<SendEnd>> senders_;
  std::vector<std::unique_ptr<RecvEnd>> receivers_;
  const Mailbox* mailbox_ = nullptr;
  PeerMemory* memory_ = nullptr;

 private:
  int peer_;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual Viability isViable(const Peer& self, const Peer& other) const = 0;
  // Starts to accept connections and writes their address into `self`.
  virtual void announce(Peer& self) = 0;
  // Starts to connect and returns at once. The peer must open the mirror image.
  virtual std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) = 0;
  // Tells all peers that are not connected yet that this rank gives up. Connected peers learn it from
  // Connection::abort.
  virtual void abort(int failedRank, std::string_view text) = 0;
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
