#pragma once
// One rank's end of a connection to another rank of its host: a local socket, and the memory of the queues of
// both directions. The lower rank calls, the higher one answers; if that takes long, the higher one knocks at
// the lower's door (transport.h). Both show that they belong to the job; then they hand each other the memory
// of their queues (local_dialogue.h).

#include <atomic>
#include <memory>
#include <optional>

#include "runtime/transport/local/local_acceptor.h"
#include "runtime/transport/local/local_dialogue.h"
#include "runtime/transport/local/local_link.h"
#include "runtime/transport/local/local_peer_memory.h"
#include "runtime/transport/transport.h"
#include "runtime/sockets/retries.h"

namespace xylem {

class LocalConnection : public Connection {
 public:
  LocalConnection(const ConnectionRequest& request, LocalKind kind, const Peer& self, const Peer& peer,
                  const StepBytes& stepBytes, std::size_t crossMemoryBytes,
                  std::shared_ptr<LocalAcceptor> acceptor);
  // Says goodbye.
  ~LocalConnection() override;

  bool advance() override;
  bool ready() const override { return complete_; }
  int waitsFor() const override;
  std::string via(QueueUse use, int queue) const override;
  PeerNews news() override;
  void abort(int culprit, std::string_view text) noexcept override;

 private:
  bool lower() const { return acceptor_->rank() < peer(); }
  bool sameProcess() const { return self_.process == other_.process; }
  pid_t otherPid() const;

  bool meet();
  bool call();
  void knock();
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

  FileDescriptor calling_;
  std::optional<Handshake> handshake_;
  Retries retries_;
  const Deadline patience_ = Deadline::after(kUncalledPatience);
  std::optional<LocalLink> knock_;
  std::optional<LocalLink> link_;
  std::optional<LocalDialogue> dialogue_;
  // Read by whoever watches the peer, while another thread still connects or aborts.
  std::atomic<bool> linked_{false};  // link_ is there
  std::atomic<bool> complete_{false};
  std::atomic<bool> aborted_{false};
  std::optional<LocalPeerMemory> peerMemory_;
};

}  // namespace xylem
