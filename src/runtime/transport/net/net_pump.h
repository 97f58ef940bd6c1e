#pragma once
// What moves the steps of one queue over a link of a network: NetSendPump at the writer, NetReceivePump at
// the reader. Whoever waits for the queue runs it, or else the engine; one at a time.
//
//   NetSendPump pump(peer, queueMemory, std::move(sender), engine);
//   SendEnd end(peer, queueMemory, &memory, &pump);       // its commit() sends straight into the socket
//
// Several steps are under way at once. A step's tag is its number, so that both sides notice if they lose
// count.

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "runtime/transport/queue/engine.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/queue/queue.h"

namespace xylem {

class NetPump : public DrivenPump {
 public:
  bool pump() noexcept final { return pump(0, nullptr); }
  bool pumpFor(std::uint64_t step, Landing& landing) noexcept final { return pump(step, &landing); }
  void check() const final;
  Drive drive(std::vector<pollfd>& fds) noexcept final;
  std::uint64_t attention() const noexcept final { return attention_.load(std::memory_order_seq_cst); }

  bool observe(StepObserver& observer) final {
    observer_.store(&observer, std::memory_order_release);
    return true;
  }

  // Why nothing will ever move again, or null.
  const Error* loss() const;

 protected:
  NetPump(int peer, const QueueMemory& queue, Engine& engine) : peer_(peer), queue_(queue), engine_(engine) {}

  bool failed() const { return state_.load(std::memory_order_acquire) != kWorking; }
  // Moves what can be moved.
  virtual bool step() = 0;
  // Nothing moved: what would let more move.
  virtual Drive rest(std::vector<pollfd>& fds) const = 0;
  // Whether something is left that the engine, if it sleeps, does not know of.
  virtual bool leftBehind() const = 0;
  // Nothing moves from now on; `kBroken` leaves the cause some time to be heard of first. By who holds busy_.
  enum State { kWorking, kBroken, kUnreachable, kWrong };
  void fail(State state, Error why);
  void stop(Error why);
  // To who observes: about the next step to be posted, and the next one to be done, while its note holds.
  void tellPosted(std::size_t bytes) const {
    if (StepObserver* observer = observer_.load(std::memory_order_acquire)) observer->posted(posted_, bytes);
  }
  void tellMoved() const {
    if (StepObserver* observer = observer_.load(std::memory_order_acquire))
      observer->moved(done_, queue_.control->notes[done_ % kQueueSteps].bytes);
  }

  std::atomic_flag busy_;  // held by the one who moves

  int peer_;
  QueueMemory queue_;
  Engine& engine_;
  std::uint64_t posted_ = 0;  // steps that the link knows, and
  std::uint64_t done_ = 0;    // those that it is through with
  std::array<NetRequest*, kQueueSteps> requests_{};
  // While a reader waits for a step: which, and where it shall go; else null.
  Landing* landing_ = nullptr;
  std::uint64_t landingStep_ = 0;

 private:
  bool pump(std::uint64_t step, Landing* landing) noexcept;
  bool guardedStep() noexcept;

  std::atomic<StepObserver*> observer_{nullptr};
  std::atomic<std::uint64_t> attention_{0};
  std::atomic<State> state_{kWorking};
  // Written before state_ changes.
  std::optional<Error> error_;
  std::chrono::steady_clock::time_point brokenAt_{};
};

class NetSendPump : public NetPump {
 public:
  NetSendPump(int peer, const QueueMemory& queue, std::unique_ptr<NetSender> link, Engine& engine);
  ~NetSendPump() override { link_->deregisterMemory(memory_); }
  // Whether everything that was committed has been handed to the network, or never will be.
  bool flushed() const;
  // Returns once nothing is read from where users hold their data, nor will be: stops for good if some of it
  // has not left yet. From any thread.
  void letGo() noexcept;

 private:
  bool step() override;
  Drive rest(std::vector<pollfd>& fds) const override;
  bool leftBehind() const override { return done_ < queue_.control->tail.load(std::memory_order_relaxed); }

  std::unique_ptr<NetSender> link_;
  NetMemory* memory_;  // the queue's slots, as the link knows them
};

class NetReceivePump : public NetPump {
 public:
  NetReceivePump(int peer, const QueueMemory& queue, std::unique_ptr<NetReceiver> link, Engine& engine);
  ~NetReceivePump() override { link_->deregisterMemory(memory_); }
  // If the peer has sent `steps` in all: whether all of them are there, or never will be; and whether nothing
  // more comes before the reader makes room.
  bool complete(std::uint64_t steps) const;
  bool full() const;

 private:
  bool step() override;
  void offerSlots();
  bool arrived(std::size_t& bytes);
  Drive rest(std::vector<pollfd>& fds) const override;
  bool leftBehind() const override { return !watched_ && done_ < posted_; }

  std::unique_ptr<NetReceiver> link_;
  NetMemory* memory_;  // as above
  // The link takes no more buffers; what is under way may have arrived all the same.
  std::optional<LinkBroken> ended_;
  std::chrono::steady_clock::time_point endedAt_{};
  mutable bool watched_ = false;  // the engine sleeps on our socket
};

}  // namespace xylem
