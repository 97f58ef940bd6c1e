#pragma once
// The dialogue of two ranks of a host over a channel of their session, by which they set their queues up.
// Each rank makes the memory of the queues it receives on and hands it over (kOffer). If a rank may read the
// memory of the peer's process, each tests whether it can: it reads random bytes (the probe) whose address
// and value the peer has sent, writes the same bytes there, and says whether it could (kConfirm).
//
//   LocalDialogue dialogue(channel, terms);
//   while (!dialogue.advance()) ...
//   QueueMemory queue = queueIn(dialogue.outgoing()->data(), stepBytes);

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/transport/local/shared_memory.h"
#include "runtime/transport/queue/queue.h"
#include "runtime/transport/session/peer_session.h"

namespace xylem::transport {

// The queues that this side wants. The peer's offer must fit.
struct LocalTerms {
  std::size_t sends = 0;
  std::size_t receives = 0;
  std::shared_ptr<SharedMemory> mailbox;  // exchanged for the peer's instead of queues
  StepBytes stepBytes{};
  Slots slots = Slots::kNarrow;
  bool sameProcess = false;
  bool probes = false;  // each side tests whether it can read the other's memory
  pid_t peerPid = 0;    // 0: the peer has none in this PID namespace
};

// The body of kOffer; the descriptor of the memory comes with it if the peer is another process.
struct LocalOffer {
  std::uint32_t receives = 0;  // number of queues that the sender of the message receives on
  std::uint32_t sends = 0;     // number of queues that it sends on
  std::uint64_t handle = 0;    // InProcess::handle() if both ranks are in one process
  std::uint64_t stepBytes[3] = {};
  // Random bytes and their address, by which the peer tests whether it can read this process's memory.
  std::uint64_t probeAddress = 0;
  std::uint64_t probe[2] = {};
};

// The body of kConfirm.
struct LocalReach {
  std::uint32_t readable = 0;  // 1 if the sender can read the memory of the other process
};

class LocalDialogue {
 public:
  // Sends this side's offer. Throws if the peer is gone. `channel` must be connected, and outlive this
  // object.
  LocalDialogue(SessionChannel& channel, LocalTerms terms);

  // Handles the messages that have arrived; true once the dialogue is complete. Throws if it cannot complete
  // any more.
  bool advance();

  // After that: the memory that the peer writes to, and the memory that this side writes to. Null if there
  // are no queues in that direction.
  const SharedMemory* incoming() const { return incoming_.get(); }
  const SharedMemory* outgoing() const { return outgoing_.get(); }
  bool peerReads() const { return peerReads_; }
  bool reads() const { return reads_; }

 private:
  // Returns whether each side waits until the other has its memory: a rank may post to its mailbox and leave
  // before any other rank has read it.
  bool acknowledges() const { return terms_.probes || terms_.mailbox != nullptr; }
  // The bytes of the memory that the peer hands over.
  std::size_t outgoingBytes() const;
  void makeMemory();
  void offer();
  void handle(PeerMessage message);
  void checkOffer(const LocalOffer& offer) const;
  void takeMemory(const LocalOffer& offer, FileDescriptor fd);
  void acknowledge(const LocalOffer& offer);
  bool readsProbe(const LocalOffer& offer) const;

  SessionChannel& channel_;
  const LocalTerms terms_;
  std::uint64_t probe_[2] = {};
  std::shared_ptr<SharedMemory> incoming_;
  std::shared_ptr<SharedMemory> outgoing_;
  std::optional<InProcess> entry_;
  bool hasMemory_ = false;
  bool hasReach_ = false;
  bool peerReads_ = false;
  bool reads_ = false;
};

}  // namespace xylem::transport
