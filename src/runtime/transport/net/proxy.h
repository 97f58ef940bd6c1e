#pragma once
// The progress thread of a rank. It moves the queues over the network that no thread waits for: it sends
// what a finished operation has left in them, and receives what arrives early.
//
//   Proxy proxy;
//   NetTransport net(options, network, proxy, log);
//
// The thread, `xylem-proxy`, starts with the first queue and sleeps in poll(2) when there is nothing to do.
// It leaves queues alone that a user pumps: two threads that read one socket only slow each other down, and
// the user is faster, as it need not be woken.

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "core/file_descriptor.h"
#include "runtime/transport/queue/pump.h"

namespace xylem::transport {

class Proxy : public Engine {
 public:
  Proxy();
  // All pumps must have been removed.
  ~Proxy() override;

  void add(DrivenPump& pump) override;
  void remove(DrivenPump& pump) noexcept override;
  void wake() noexcept override {
    if (asleep_.load(std::memory_order_seq_cst)) ring();
  }
  int bell() const override { return bell_.get(); }
  void observe(EngineObserver* observer) override {
    const std::lock_guard lock(observing_);
    observer_ = observer;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    DrivenPump* pump = nullptr;
    std::uint64_t seen = 0;               // its attention() when last checked
    Clock::time_point leaveAloneUntil{};  // a user pumps it
  };
  // How soon the next pass must follow; the most urgent first.
  enum class Next { kAgain, kPollAgain, kSleep };

  void run();
  Next pass(std::vector<pollfd>& fds);
  bool disturbed();
  void turn(EngineState state) noexcept;
  void ring() noexcept;
  void silence() noexcept;

  FileDescriptor bell_;  // eventfd
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stop_{false};
  std::mutex observing_;  // guards observer_; held while it is called
  EngineObserver* observer_ = nullptr;
  EngineState state_ = EngineState::kAwake;  // used by the thread only
  std::mutex mutex_;  // guards pumps_; held while a pump is driven, so that remove() waits for that
  std::vector<Entry> pumps_;
  std::thread thread_;
};

}  // namespace xylem::transport
