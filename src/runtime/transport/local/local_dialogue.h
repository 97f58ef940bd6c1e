#pragma once
// The dialogue of two connected ranks of a host, by which they set their queues up. Each rank makes the
// memory of the queues it receives on and hands it over. If a rank may read the memory of the peer's
// process, each tests whether it can: it reads random bytes (the probe) whose address and value the peer has
// sent.
//
//   LocalDialogue dialogue(link, terms);
//   while (!dialogue.advance()) ...                                       // poll link.socket() for reading
//   QueueMemory queue = queueIn(dialogue.outgoing()->data(), stepBytes);

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/transport/local/local_link.h"
#include "runtime/transport/local/shared_memory.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

// The queues that this side wants. The peer's offer must fit.
struct LocalTerms {
  std::size_t sends = 0;
  std::size_t receives = 0;
  std::shared_ptr<SharedMemory> mailbox;  // exchanged for the peer's instead of queues
  StepBytes stepBytes{};
  bool sameProcess = false;
  bool probes = false;  // each side tests whether it can read the other's memory
  pid_t peerPid = 0;    // 0: the peer has none in this PID namespace
};

class LocalDialogue {
 public:
  // Sends this side's offer. Throws if the peer is gone. `link` must outlive this object.
  LocalDialogue(LocalLink& link, LocalTerms terms);

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
  void handle(const LocalMessage& message, FileDescriptor fd);
  void checkOffer(const LocalMessage& message) const;
  void takeMemory(const LocalMessage& message, FileDescriptor fd);
  void acknowledge(const LocalMessage& message);
  bool readsProbe(const LocalMessage& message) const;
  [[noreturn]] void throwClosed() const;

  LocalLink& link_;
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
