#pragma once
// The ranks of a host that send through each other's network devices (proxied_memory.h): those whose proxy threads carry queues of this
// rank, and those whose queues this rank's proxy thread carries.
//
//   ProxyRanks ranks({stepBytes, &network, &proxy});
//   std::vector<Connection*> all;                            // connect them with the others when ranks join
//   for (int peer : partners) all.push_back(&ranks.open(peers[peer], sessions, 4));
//   ranks.serve();
//   ProxyRank* proxy = ranks.find(5);                        // null: this rank sends itself

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "runtime/transport/net/pxn/carried_queue.h"
#include "runtime/transport/net/pxn/proxied_queue.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

// A rank of this host: the proxy rank of this one, or one whose queues this one carries, or both. As a Connection it has no queues of its
// own; it is made by both ranks.
class ProxyRank final : public Connection {
 public:
  // `slots`: the number of its queues that can have slots in the memory of this rank's GPU. `attention` counts what the proxy thread
  // has to look at.
  ProxyRank(const Peer& peer, PeerSessions& sessions, const CarriedQueue::Context& context, int slots,
            std::atomic<std::uint64_t>& attention);
  ~ProxyRank() override;

  bool advance() override;
  bool ready() const override { return ready_.load(std::memory_order_acquire); }
  int waitsFor() const override { return channel_.hasMessage() ? -1 : channel_.session().waitsFor(); }
  std::string via(QueueUse, int) const override { return "NET"; }
  PeerNews news() override { return channel_.news(); }
  PeerSession* session() const override { return &channel_.session(); }

  // As a proxy rank of this one:
  // Asks it to carry the queue in this memory. It must be ready.
  void ask(const ProxyRequest& request, int memory);
  // Lets its thread look at the queues.
  void wake() noexcept;
  bool refuses() const { return mine().refuses.load(std::memory_order_acquire) != 0; }
  // This rank needs it no longer.
  void leave() noexcept;

  // As a rank whose queues this one carries; called by this rank's proxy thread:
  DrivenPump::Drive carry(std::vector<pollfd>& fds) noexcept;
  void sayAsleep(bool asleep) noexcept;
  // Whether the rank has asked for attention since the last carry().
  bool disturbed() const noexcept;

  // While the proxy thread carries nothing: whether a queue with slots in the memory of this rank's GPU has no link yet; gives back the
  // memory that no queue has.
  bool connectsSlots() const;
  std::vector<SharedSlots> forgetDevice() noexcept {
    context_.device = nullptr;
    return std::move(slots_);
  }

  // By any thread: whether the rank may still want something sent, and a number that changes when it does.
  bool needsThisRank() noexcept;
  std::uint64_t activity() const noexcept { return moves_.load(std::memory_order_relaxed); }
  bool holdsSteps() const noexcept { return holds_.load(std::memory_order_relaxed); }

 private:
  ProxyDesk& mine() const { return *std::launder(reinterpret_cast<ProxyDesk*>(mine_.data())); }
  ProxyDesk& theirs() const { return *std::launder(reinterpret_cast<ProxyDesk*>(theirs_.data())); }
  void takeRequests();
  void take(PeerMessage message);
  void dropOver();

  CarriedQueue::Context context_;
  std::atomic<std::uint64_t>& attention_;
  SessionChannel channel_;
  SharedMemory mine_;    // the desk of this rank at the peer
  SharedMemory theirs_;  // the desk of the peer at this rank
  FileDescriptor bell_;  // of the peer's proxy thread
  bool offered_ = false;
  std::atomic<bool> ready_{false};
  std::atomic<std::uint64_t> moves_{0};  // how often its queues have moved
  std::atomic<bool> holds_{false};       // a queue has steps that were not sent
  // Used by the proxy thread:
  std::uint64_t seenAttention_ = 0;
  std::uint64_t requestsTaken_ = 0;
  std::vector<std::unique_ptr<CarriedQueue>> queues_;
  std::vector<SharedSlots> slots_;  // that no queue has
};

class ProxyRanks {
 public:
  // The network and the engine of the context must outlive this object, its device only until forgetDevice().
  explicit ProxyRanks(const CarriedQueue::Context& context) : context_(context) {}
  ~ProxyRanks();
  ProxyRanks(const ProxyRanks&) = delete;
  ProxyRanks& operator=(const ProxyRanks&) = delete;

  // Starts to connect to a rank of this host, which starts it, too. `slots`: the number of its queues that can have slots in the memory
  // of this rank's GPU. They are taken now: the driver may wait for running kernels before it gives memory, and a kernel for a queue.
  Connection& open(const Peer& peer, PeerSessions& sessions, int slots = 0);
  // From now on the proxy thread carries what other ranks ask for. No rank can be opened after that.
  void serve();
  ProxyRank* find(int rank) const;

  // This rank sends no more: its proxy ranks need not wait for it.
  void leave() noexcept;
  // From now on no further queue gets slots in the memory of this rank's GPU. Waits a moment for those that get their links.
  void forgetDevice() noexcept;
  bool empty() const { return ranks_.empty(); }
  // Whether another rank may still want something sent. Makes a system call for each.
  bool needed() noexcept;
  // Tells the others that this rank is there for that alone.
  void tellLeft() noexcept {
    for (const auto& [number, rank] : ranks_) rank->session()->tellLeft();
  }
  // Changes while other ranks send through this one; whether something of theirs was not sent yet.
  std::uint64_t activity() const noexcept;
  bool holdsSteps() const noexcept;

 private:
  // The work of the proxy thread for other ranks.
  class Service final : public DrivenPump {
   public:
    explicit Service(const std::map<int, std::unique_ptr<ProxyRank>>& ranks) : ranks_(ranks) {}
    bool pump() noexcept override { return false; }
    Drive drive(std::vector<pollfd>& fds) noexcept override;
    std::uint64_t attention() const noexcept override { return attention_.load(std::memory_order_seq_cst); }
    std::atomic<std::uint64_t>& counter() { return attention_; }

   private:
    const std::map<int, std::unique_ptr<ProxyRank>>& ranks_;
    std::atomic<std::uint64_t> attention_{0};
  };

  const CarriedQueue::Context context_;
  std::map<int, std::unique_ptr<ProxyRank>> ranks_;
  Service service_{ranks_};
  bool serving_ = false;
};

}  // namespace xylem::transport
