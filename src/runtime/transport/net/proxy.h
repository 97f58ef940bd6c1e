#pragma once
// The progress thread of a rank: it moves the queues of the network that nobody waits for. What a finished
// operation left to send goes out, and what arrives early is taken in.
//
//   Proxy proxy;
//   NetTransport net(options, network, proxy, log);
//
// The thread, `xylem-proxy`, starts with the first queue and sleeps in poll(2) while there is nothing to do.
// Queues that a user pumps are left alone: two who read one socket only get in each other's way, and the user
// is faster, as it needs nobody to wake it.

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "core/file_descriptor.h"
#include "runtime/transport/queue/engine.h"

namespace xylem {

class Proxy : public Engine {
 public:
  Proxy();
  // All pumps have been removed.
  ~Proxy() override;

  void add(DrivenPump& pump) override;
  void remove(DrivenPump& pump) noexcept override;
  void wake() noexcept override {
    if (asleep_.load(std::memory_order_seq_cst)) ring();
  }
  void observe(EngineObserver& observer) override { observer_.store(&observer, std::memory_order_release); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    DrivenPump* pump = nullptr;
    std::uint64_t seen = 0;               // its attention
    Clock::time_point leaveAloneUntil{};  // somebody is at it
  };
  // The most urgent first.
  enum class Next { kAgain, kLook, kSleep };

  void run();
  Next pass(std::vector<pollfd>& fds);
  bool disturbed();
  void turn(EngineState state) noexcept;
  void ring() noexcept;
  void silence() noexcept;

  FileDescriptor bell_;  // eventfd
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stop_{false};
  std::atomic<EngineObserver*> observer_{nullptr};
  EngineState state_ = EngineState::kAwake;  // the thread's
  std::mutex mutex_;  // of pumps_; held while one of them is driven, so that remove() waits for it
  std::vector<Entry> pumps_;
  std::thread thread_;
};

}  // namespace xylem
