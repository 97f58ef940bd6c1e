#include "runtime/comm/join/rank_network.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/deadline.h"

namespace xylem::comm {
namespace {

constexpr std::chrono::seconds kIdleTime{10};
constexpr std::chrono::milliseconds kLook{2};

// The networks that other ranks still need.
class Kept {
 public:
  static Kept& instance() {
    static Kept& kept = *new Kept;  // communicators may end after static objects
    return kept;
  }
  // Keeps the network if it is needed, and ends those that no longer are.
  void add(std::unique_ptr<RankNetwork> network) {
    const std::lock_guard lock(mutex_);
    if (exiting_) return await(*network);
    networks_.push_back(std::move(network));
    std::erase_if(networks_, [](const auto& kept) { return !kept->ranks.needed(); });
  }

 private:
  Kept() {
    std::atexit([] { instance().exit(); });
  }
  void exit() {
    if (getpid() != process_) return;  // a forked child has no proxy threads
    const std::lock_guard lock(mutex_);
    exiting_ = true;
    for (const auto& network : networks_) await(*network);
    networks_.clear();
  }
  static void await(RankNetwork& network) {
    Deadline idle = Deadline::after(kIdleTime);
    for (std::uint64_t seen = 0; network.ranks.needed() && !idle.passed();) {
      if (const std::uint64_t now = network.ranks.activity(); std::exchange(seen, now) != now)
        idle = Deadline::after(kIdleTime);
      std::this_thread::sleep_for(kLook);
    }
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  bool exiting_ = false;
  std::vector<std::unique_ptr<RankNetwork>> networks_;
};

}  // namespace

void endWhenUnused(std::unique_ptr<RankNetwork> network) noexcept {
  network->proxy.observe(nullptr);
  if (network->ranks.empty()) return;
  network->ranks.forgetDevice();
  network->ranks.leave();
  try {
    Kept::instance().add(std::move(network));
  } catch (const std::exception&) {
    // There is no memory to keep it.
  }
}

}  // namespace xylem::comm
