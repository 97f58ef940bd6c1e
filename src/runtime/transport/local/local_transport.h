#pragma once
// The transports within a host. P2P lets the ranks read each other's memory; SHM copies all data through the
// queues. Everything else is the same: over their session, the two ranks of a connection hand each other the
// shared memory of their queues (local_dialogue.h).
//
//   auto sessions = std::make_shared<PeerSessions>(SessionOptions{.rank = rank, .secret = secret}, log);
//   P2pTransport p2p(sessions, bufferBytes, choices);
//   ShmTransport shm(sessions, bufferBytes);

#include <memory>

#include "runtime/transport/choices/copy_choices.h"
#include "runtime/transport/choices/two_ways.h"
#include "runtime/transport/session/peer_sessions.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

class LocalTransport : public Transport {
 public:
  Viability isViable(const Peer& self, const Peer& other) const override;
  std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) override;

 protected:
  LocalTransport(ChannelKind kind, std::shared_ptr<PeerSessions> sessions, std::size_t bufferBytes,
                 const CopyChoices& choices, TellChange tell)
      : Transport(std::move(sessions)),
        kind_(kind),
        stepBytes_(stepBytesFor(bufferBytes)),
        choices_(choices),
        tell_(std::move(tell)) {}

 private:
  const ChannelKind kind_;
  const StepBytes stepBytes_;
  const CopyChoices choices_;
  const TellChange tell_;
};

// The transport `P2P`: shared data is not copied. In one process the peer gets its address; the peer maps
// memory of ncclMemAlloc and cudaMalloc; other memory is copied through the queue, or read through the
// kernel.
class P2pTransport : public LocalTransport {
 public:
  // `bufferBytes`: of all slots of a queue together (NCCL_BUFFSIZE); all ranks must pass the same.
  // `choices`: those of all ranks of the host. `tell` is called for changes while ranks run.
  P2pTransport(std::shared_ptr<PeerSessions> sessions, std::size_t bufferBytes, const CopyChoices& choices,
               TellChange tell = {})
      : LocalTransport(ChannelKind::kP2p, std::move(sessions), bufferBytes, choices, std::move(tell)) {}
  std::string_view name() const override { return "P2P"; }
  Viability isViable(const Peer& self, const Peer& other) const override;
};

// The transport `SHM`: the ranks share nothing but their queues.
class ShmTransport : public LocalTransport {
 public:
  ShmTransport(std::shared_ptr<PeerSessions> sessions, std::size_t bufferBytes)
      : LocalTransport(ChannelKind::kShm, std::move(sessions), bufferBytes, {}, {}) {}
  std::string_view name() const override { return "SHM"; }
};

}  // namespace xylem::transport
