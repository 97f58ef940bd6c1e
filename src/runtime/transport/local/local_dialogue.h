#pragma once
// What two ranks of a host tell each other once they have met, until both can use their queues: each makes
// the memory of the queues it receives on and hands it over, and, if memory may be shared by reference
// between processes, tries whether it can read the peer's.
//
//   LocalDialogue dialogue(link, terms);
//   while (!dialogue.advance()) poll for link.socket() to become readable
//   queueIn(dialogue.outgoing().data(), ...)

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/transport/local/in_process.h"
#include "runtime/transport/local/local_link.h"
#include "runtime/transport/queue/queue.h"

namespace xylem {

// What this side wants, against which the peer's offer is held.
struct LocalTerms {
  std::size_t sends = 0;
  std::size_t receives = 0;
  std::shared_ptr<SharedMemory> board;  // instead of queues: this rank's, for the peer's
  StepBytes stepBytes{};
  bool sameProcess = false;
  bool probes = false;  // each side tries whether it can read the other's memory
  pid_t peerPid = 0;    // 0: it has none here
};

class LocalDialogue {
 public:
  // Makes the offer. Throws if the peer is gone. `link` must outlive this.
  LocalDialogue(LocalLink& link, LocalTerms terms);

  // Goes on as far as the peer has spoken; true once nothing is left to say. Throws if that cannot be any
  // more.
  bool advance();

  // Then: the memory that the peer writes to and that this side writes to; null where there are no queues.
  const SharedMemory* incoming() const { return incoming_.get(); }
  const SharedMemory* outgoing() const { return outgoing_.get(); }
  bool peerReads() const { return peerReads_; }
  bool reads() const { return reads_; }

 private:
  // Whether each side waits until the other has its memory. Who posts on a board may leave before anybody
  // reads.
  bool acknowledges() const { return terms_.probes || terms_.board != nullptr; }
  // Of the memory that the peer hands over.
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

}  // namespace xylem
