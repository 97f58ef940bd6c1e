#pragma once
// One end of a queue over a network: the queue's memory inside this process, and the pump between that
// memory and a link of the network, NetSendPump at the writer and NetReceivePump at the reader. The thread
// that waits for the queue runs the pump, otherwise the engine does; one thread at a time.
//
//   NetQueueMemory memory(stepBytes);
//   NetSendPump pump(peer, memory, std::move(link), engine);
//   NetPeerMemory inPlace;
//   SendEnd end(peer, memory.queue(), &inPlace, &pump);       // commit() sends straight into the socket
//   engine.add(pump);
//
// Several steps are under way at once. The tag of a message is the number of its step, so that both sides
// notice if they lose count.
//
// The slots may lie in memory of a GPU. Data that a network card has written there may have to be flushed before a kernel may read it.

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/transport/local/peer_memory.h"
#include "runtime/transport/net/device_memory.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/net/pxn/proxied_queue.h"
#include "runtime/transport/queue/pump.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

// The memory of a queue inside one process. Pages are allocated when they are first touched.
class NetQueueMemory {
 public:
  // `device`: whose memory has the slots; null: they are in the host's, too.
  explicit NetQueueMemory(const StepBytes& stepBytes, DeviceMemory* device = nullptr);
  // For a queue in memory that others own. `device`: whose memory has its slots, or null.
  explicit NetQueueMemory(const QueueMemory& others, DeviceMemory* device = nullptr)
      : queue_(others), owned_(false), device_(device) {}
  ~NetQueueMemory();
  NetQueueMemory(NetQueueMemory&& other) noexcept;
  NetQueueMemory& operator=(NetQueueMemory&&) = delete;
  const QueueMemory& queue() const { return queue_; }
  bool onDevice() const { return device_ != nullptr; }
  // Registers the slots with a link. `pointers`: the kinds of memory that its network takes.
  NetMemory* registerWith(NetLink& link, unsigned pointers) const;

 private:
  QueueMemory queue_;
  bool owned_ = true;
  DeviceMemory* device_;
  std::shared_ptr<std::byte> slots_;  // of the device
};

// The end of a queue, beside its memory.
struct NetEndOptions {
  int device = 0;                    // of the network
  bool gdr = false;                  // the slots are in the GPU's memory
  unsigned pointers = kHostPointer;  // the kinds of memory that the network takes
  bool flush = false;                // flush data that has arrived in memory of a GPU
  int proxy = -1;                    // the rank whose proxy thread sends; -1: this rank's own
  bool foreign = false;              // another rank writes the queue, and is not trusted
};

// Lets SendEnd::share send long data from the user's buffer, without copying it into a slot.
class NetPeerMemory : public PeerMemory {
 public:
  bool locate(const std::byte* data, std::size_t bytes, bool readable, StepNote& note) override;
  const std::byte* reach(const StepNote& note) override;
  void read(const StepNote& note, std::byte* out) override;
};

class NetPump : public DrivenPump {
 public:
  bool pump() noexcept final { return pump(0, nullptr); }
  bool pumpFor(std::uint64_t step, ReceiveBuffer& buffer) noexcept final { return pump(step, &buffer); }
  void check() const final;
  Drive drive(std::vector<pollfd>& fds) noexcept final;
  std::uint64_t attention() const noexcept final { return attention_.load(std::memory_order_seq_cst); }

  bool observe(StepObserver& observer) final {
    observer_.store(&observer, std::memory_order_release);
    return true;
  }

  // The reason why nothing will ever move again; null if the link works. The end of a connection is reported
  // with a delay, as its cause may be about to arrive over the session.
  const Error* loss() const;
  // Whether nothing will ever move again, for whatever reason.
  bool failed() const { return state_.load(std::memory_order_acquire) != kWorking; }

 protected:
  NetPump(int peer, const QueueMemory& queue, Engine& engine) : peer_(peer), queue_(queue), engine_(engine) {}

  // Moves what can be moved. Returns whether anything moved.
  virtual bool step() = 0;
  // After a step that moved nothing: the descriptors that report when more can move.
  virtual Drive rest(std::vector<pollfd>& fds) const = 0;
  // Returns whether there is work that an engine which sleeps does not know of.
  virtual bool leftBehind() const = 0;
  // kBroken: the link was closed or broke; reported with a delay (see loss()). kUnreachable: the peer's host
  // does not answer. kWrong: any other error.
  enum State { kWorking, kBroken, kUnreachable, kWrong };
  // Ends all moving. The caller holds busy_.
  void fail(State state, Error why);
  void stop(Error why);
  // Tell the observer about the step posted_, and about the step done_, whose note must still be valid.
  void tellPosted(std::size_t bytes) const {
    if (StepObserver* observer = observer_.load(std::memory_order_acquire)) observer->posted(posted_, bytes);
  }
  void tellMoved() const {
    if (StepObserver* observer = observer_.load(std::memory_order_acquire))
      observer->moved(done_, queue_.control->notes[done_ % kQueueSteps].bytes);
  }

  std::atomic_flag busy_;  // held by the thread that moves

  int peer_;
  QueueMemory queue_;
  Engine& engine_;
  std::uint64_t posted_ = 0;  // number of steps that the link has taken over
  std::uint64_t done_ =
      0;  // number of steps that it has finished, and of which the other side of the queue knows
  std::array<NetRequest*, kQueueSteps> requests_{};
  // The step that a reader waits for in pumpFor(), and its buffer; null if there is no such reader.
  ReceiveBuffer* buffer_ = nullptr;
  std::uint64_t awaitedStep_ = 0;

 private:
  bool pump(std::uint64_t step, ReceiveBuffer* buffer) noexcept;
  bool guardedStep() noexcept;

  std::atomic<StepObserver*> observer_{nullptr};
  std::atomic<std::uint64_t> attention_{0};
  std::atomic<State> state_{kWorking};
  // Written before state_ leaves kWorking.
  std::optional<Error> error_;
  std::chrono::steady_clock::time_point brokenAt_{};
};

class NetSendPump : public NetPump {
 public:
  NetSendPump(int peer, const NetQueueMemory& memory, std::unique_ptr<NetSender> link, Engine& engine,
              const NetEndOptions& options = {});
  ~NetSendPump() override { link_->deregisterMemory(memory_); }
  // Returns whether the network has taken everything that was committed, or never will.
  bool flushed() const;
  // Returns once the network no longer reads users' buffers; stops the pump for good if it still has to send
  // from one. Any thread may call it.
  void releaseUserBuffers() noexcept;

 private:
  bool step() override;
  Drive rest(std::vector<pollfd>& fds) const override;
  bool leftBehind() const override { return done_ < queue_.control->tail.load(std::memory_order_relaxed); }

  std::unique_ptr<NetSender> link_;
  NetMemory* memory_;  // the registration of the queue's slots with the link
  const bool foreign_;
};

class NetReceivePump : public NetPump {
 public:
  NetReceivePump(int peer, const NetQueueMemory& memory, std::unique_ptr<NetReceiver> link, Engine& engine,
                 const NetEndOptions& options = {});
  ~NetReceivePump() override { link_->deregisterMemory(memory_); }
  // Returns whether `steps` steps have arrived in all, or never will.
  bool complete(std::uint64_t steps) const;
  // Returns whether all slots are full: nothing more arrives until the reader has read a step.
  bool full() const;

 private:
  bool step() override;
  void offerSlots();
  bool arrived();
  void flush(std::uint64_t step, std::size_t bytes);
  Drive rest(std::vector<pollfd>& fds) const override;
  bool leftBehind() const override { return !watched_ && done_ < posted_; }

  std::unique_ptr<NetReceiver> link_;
  NetMemory* memory_;  // the registration of the queue's slots with the link
  const bool flushes_;
  std::uint64_t received_ =
      0;  // number of steps that have arrived; the request of a later one than done_ is its flush, or null
  // Set once the link takes no more buffers. Messages under way may have arrived all the same.
  std::optional<LinkBroken> ended_;
  std::chrono::steady_clock::time_point endedAt_{};
  mutable bool watched_ = false;  // the engine sleeps on the link's socket
};

// The queue's memory, and the objects that exist in turn: first the connector or listener of its link, then
// the pump. A proxied queue has neither: its proxy rank has them.
struct NetSendQueue {
  NetEndOptions options;
  NetQueueMemory memory;
  std::unique_ptr<NetConnector> connector{};
  std::unique_ptr<NetSendPump> pump{};
  std::unique_ptr<ProxiedQueue> proxied{};
};

struct NetReceiveQueue {
  NetEndOptions options;
  NetQueueMemory memory;
  std::unique_ptr<NetListener> listener;
  std::unique_ptr<NetReceivePump> pump;
  std::uint64_t announced = ~std::uint64_t{0};  // steps that the peer has sent in all, by its goodbye
};

}  // namespace xylem::transport
