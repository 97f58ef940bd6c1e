#pragma once
// What every transport is: a way to queues between two ranks, with an answer, and its reason, whether it can.
//
//   if (const Viability v = transport.isViable(self, peer); !v.viable) log(v.reason);
//   peerInfo.shm = transport.listen();                       // then all ranks exchange their Peer
//   auto connections = transport.connect({{next, 2, 0}, {previous, 0, 2}}, peers, waiting);
//   connections[0]->writer(1) ...
//
// Setting up waits, but never longer than its deadline; data then flows through the queues without the
// transport.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/error.h"
#include "transport/fifo.h"
#include "transport/peer.h"

namespace xylem {

struct Viability {
  bool viable = false;
  std::string reason;
};

// Queues wanted between this rank and `peer`: `sends` to it, `receives` from it.
struct ConnectionRequest {
  int peer = -1;
  int sends = 0;
  int receives = 0;
};

// How long to wait while connecting, and a look, every few milliseconds, at what else may have gone wrong: it
// throws.
struct Waiting {
  Deadline deadline;
  std::function<void()> look;
};

// What has been heard from the peer of a connection.
enum class PeerState {
  kThere,
  kClosed,   // it closed the connection as it should; what is in the queues is still good
  kLost,     // it vanished: its process ended
  kAborted,  // it gave up and says why
};

struct PeerNews {
  PeerState state = PeerState::kThere;
  int culprit = -1;  // kAborted: the rank at fault, as far as the peer knows
  std::string text;  // kAborted: what happened
};

class Connection {
 public:
  virtual ~Connection() = default;

  int peer() const { return peer_; }
  FifoWriter& writer(int index) { return writers_[static_cast<std::size_t>(index)]; }
  FifoReader& reader(int index) { return readers_[static_cast<std::size_t>(index)]; }

  // What is known of the peer, without waiting; makes a system call.
  virtual PeerNews news() = 0;
  // Tells the peer that this side gives up, and whose fault it is.
  virtual void abort(int culprit, std::string_view text) noexcept = 0;

 protected:
  explicit Connection(int peer) : peer_(peer) {}
  std::vector<FifoWriter> writers_;
  std::vector<FifoReader> readers_;

 private:
  int peer_;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual Viability isViable(const Peer& self, const Peer& other) const = 0;
  // Starts to accept connections, and says where.
  virtual TransportAddress listen() = 0;
  // Connects to all of `requests`, in that order; every peer must ask for the mirror image. `peers` is
  // indexed by rank.
  virtual std::vector<std::unique_ptr<Connection>> connect(std::span<const ConnectionRequest> requests,
                                                           std::span<const Peer> peers,
                                                           const Waiting& waiting) = 0;
};

}  // namespace xylem
