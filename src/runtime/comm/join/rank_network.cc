#include "runtime/comm/join/rank_network.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/per_process.h"

namespace xylem::comm {
namespace {

// How long the exit waits for ranks that send nothing, and for steps that a receiver does not take.
constexpr std::chrono::seconds kIdleTime{10}, kStuckTime{60};
constexpr std::chrono::milliseconds kLook{5};
// How long a rank that leaves waits for the end of networks which were kept for it.
constexpr std::chrono::milliseconds kSettle{100};

// The networks that other ranks still need, and a thread that ends each of them when that is over. Ending one may take long: the
// driver of a GPU may wait for running kernels before it takes memory back.
class Kept {
  using Clock = std::chrono::steady_clock;

 public:
  // Never destroyed: communicators may end after static objects.
  static Kept& instance() {
    static constinit PerProcess<Kept> kept;
    static const int atExit = std::atexit([] { instance().exit(); });
    static_cast<void>(atExit);
    return kept.get();
  }

  void add(std::unique_ptr<RankNetwork> network) {
    std::unique_lock lock(mutex_);
    networks_.push_back({std::move(network)});
    if (running_) return;
    if (exiting_) {
      running_ = true;
      lock.unlock();
      return run();
    }
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([this] { run(); });
    running_ = true;
  }
  // Returns when those that are no longer needed have ended, or after a moment.
  void settle() {
    std::unique_lock lock(mutex_);
    const std::uint64_t asked = ++asked_;
    asks_.notify_all();
    settled_.wait_for(lock, kSettle, [&] { return !running_ || looked_ >= asked; });
  }

 private:
  struct Entry {
    std::unique_ptr<RankNetwork> network;
    Clock::time_point moved = Clock::now();
    std::uint64_t seen = 0;

    bool isOver(bool exiting) {
      if (const std::uint64_t now = network->ranks.activity(); std::exchange(seen, now) != now)
        moved = Clock::now();
      const auto limit = network->ranks.holdsSteps() ? kStuckTime : kIdleTime;
      return !network->ranks.needed() || (exiting && Clock::now() - moved > limit);
    }
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (!networks_.empty()) {
      const std::uint64_t asked = asked_;
      std::vector<Entry> over = takeOver();
      lock.unlock();
      over.clear();
      lock.lock();
      looked_ = asked;
      settled_.notify_all();
      if (!networks_.empty()) asks_.wait_for(lock, kLook, [&] { return asked_ != asked; });
    }
    running_ = false;
    settled_.notify_all();
  }
  std::vector<Entry> takeOver() {
    const auto over = std::stable_partition(networks_.begin(), networks_.end(),
                                            [this](Entry& entry) { return !entry.isOver(exiting_); });
    std::vector<Entry> taken(std::make_move_iterator(over), std::make_move_iterator(networks_.end()));
    networks_.erase(over, networks_.end());
    return taken;
  }
  void exit() {
    std::thread last;
    {
      const std::lock_guard lock(mutex_);
      exiting_ = true;
      for (Entry& entry : networks_) entry.moved = Clock::now();
      last = std::move(thread_);
    }
    if (last.joinable()) last.join();
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(running_, true)) return;
    }
    run();  // those for which there was no thread
  }

  std::mutex mutex_;  // guards all that follows; not held while a network ends
  std::condition_variable asks_, settled_;
  std::uint64_t asked_ = 0, looked_ = 0;
  bool exiting_ = false, running_ = false;
  std::vector<Entry> networks_;
  std::thread thread_;
};

}  // namespace

void endWhenUnused(std::unique_ptr<RankNetwork> network) noexcept {
  network->proxy.observe(nullptr);
  if (network->ranks.empty()) return;
  network->ranks.forgetDevice();
  network->ranks.leave();
  try {
    if (network->ranks.needed()) {
      network->ranks.tellLeft();
      Kept::instance().add(std::move(network));
    }
    Kept::instance().settle();
  } catch (const std::exception&) {
    // There is no memory to keep it, or no thread for that.
  }
}

}  // namespace xylem::comm
