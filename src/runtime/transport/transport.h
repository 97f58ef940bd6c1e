#pragma once
// What every transport is: a way to queues between two ranks, with an answer, and its reason, whether it can.
//
//   if (const Viability v = transport.isViable(self, peer); !v.viable) log(v.reason);
//   transport.announce(self);                               // then all ranks exchange their Peer
//   auto connection = transport.open({.peer = next, .sends = {0, 0}}, peers[next]);
//   while (!connection->advance()) ...                      // or connectAll, for many, with a deadline
//   connection->sender(1).send(...)
//
// Every pair that talks asks for mirror images of each other, at any time and in any order: nothing waits for
// the peer but `advance`, which says that it would. Data then flows through the queues without the transport.

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/error.h"
#include "runtime/transport/local/board.h"
#include "runtime/transport/peer.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"
#include "runtime/transport/local/shared_memory.h"

namespace xylem {

struct Viability {
  bool viable = false;
  std::string reason;
};

// What tells the connections of a pair apart.
constexpr std::uint32_t kForCollectives = 0, kForTransfers = 1, kForBoards = 2, kForChecks = 3;

// Queues wanted between this rank and `peer`.
struct ConnectionRequest {
  int peer = -1;
  std::uint32_t purpose = kForCollectives;
  // One queue each; the number is that of the network device at this rank's end, which only the network
  // looks at.
  std::vector<int> sends;
  std::vector<int> receives;
  // Instead of queues: this rank's board, for the peer's. Only P2P can do that.
  std::shared_ptr<SharedMemory> board;
};

// What has been heard from the peer of a connection.
enum class PeerState {
  kThere,
  kClosed,   // it closed the connection as it should; what is in the queues is still good
  kLost,     // it vanished: its process ended, or its host cannot be reached
  kAborted,  // it gave up and says why
};

struct PeerNews {
  PeerState state = PeerState::kThere;
  int culprit = -1;  // kAborted: the rank at fault, as far as the peer knows
  std::string text;  // kAborted: what happened
  std::string how;   // kLost: where more is known than that nothing comes
};

// Of a pair, the lower rank calls. A higher one that has waited this long to be called knocks: it calls the
// lower one, which takes no notice, but says there when it gives up.
constexpr std::chrono::milliseconds kUncalledPatience{500};

// What this rank does with a queue.
enum class QueueUse { kSend, kReceive };

class Connection {
 public:
  virtual ~Connection() = default;

  int peer() const { return peer_; }
  // Goes on with setting up as far as possible without waiting; true once the queues can be used. Throws if
  // that cannot be any more.
  virtual bool advance() = 0;
  // A descriptor to poll for reading while advance() says false; -1: look again in a millisecond.
  virtual int waitsFor() const { return -1; }

  SendEnd& sender(int index) { return *senders_[static_cast<std::size_t>(index)]; }
  RecvEnd& receiver(int index) { return *receivers_[static_cast<std::size_t>(index)]; }
  // The peer's board, and the way to the buffers that it tells of.
  const Board& board() const { return *board_; }
  PeerMemory& memory() const { return *memory_; }
  // After `via` in NCCL's lines, for a queue: `P2P/direct pointer`, `SHM/direct/direct`, `NET/Socket/0`.
  virtual std::string via(QueueUse use, int queue) const = 0;

  // Whether it is connected.
  virtual bool ready() const = 0;
  // What is known of the peer, without waiting; makes a system call.
  virtual PeerNews news() = 0;
  // Asks the peer whether it is at work, where the system does not tell that; false if there is no way to
  // ask. It answers when it looks for news itself, which those who wait for something do all the time.
  virtual bool ask() noexcept { return false; }
  // Whether news have come with the answer since.
  virtual bool answered() { return false; }
  // Tells the peer that this side gives up, and whose fault it is, once there is a way to tell it. From any
  // thread, also while another one sets the connection up or uses it. When it returns to the thread that has
  // shared buffers over it, or posted them, neither the peer nor the network is in them any more.
  virtual void abort(int culprit, std::string_view text) noexcept = 0;

 protected:
  explicit Connection(int peer) : peer_(peer) {}
  std::vector<std::unique_ptr<SendEnd>> senders_;
  std::vector<std::unique_ptr<RecvEnd>> receivers_;
  const Board* board_ = nullptr;
  PeerMemory* memory_ = nullptr;

 private:
  int peer_;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual Viability isViable(const Peer& self, const Peer& other) const = 0;
  // Starts to accept connections, and writes into `self` where.
  virtual void announce(Peer& self) = 0;
  // Starts to connect; the peer must ask for the mirror image. Returns at once.
  virtual std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) = 0;
  // This rank gives up: peers that wait to be connected learn that from here, as those that are do from their
  // connections.
  virtual void abort(int culprit, std::string_view text) = 0;
};

// How long to wait while connecting, and a look, every few milliseconds, at what else may have gone wrong: it
// throws.
struct Waiting {
  Deadline deadline;
  std::function<void()> look;
};

// Advances all until each is connected. Throws when the deadline has passed, naming the peers that are
// missing.
void connectAll(std::span<Connection* const> connections, const Waiting& waiting);

}  // namespace xylem
