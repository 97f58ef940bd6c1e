#pragma once
// State that belongs to one process: a child of fork finds it new, whatever its parent's threads did with the old one at the time. One of
// them may have held a lock in it, which would stay locked in the child for ever.
//
//   struct Pool { std::mutex mutex; std::vector<int> free; };
//   Pool& pool() {
//     static constinit PerProcess<Pool> pools;      // no other thread can be making it when a process is forked
//     return pools.get();
//   }

#include <atomic>
#include <memory>

#include "core/keep_for_ever.h"

namespace xylem {

class StartedAnew {
 public:
  StartedAnew(const StartedAnew&) = delete;
  StartedAnew& operator=(const StartedAnew&) = delete;

 protected:
  constexpr StartedAnew() = default;
  ~StartedAnew() = default;
  // From now on each child of fork calls startAnew(). The object lives as long as the process.
  void enlist();

 private:
  friend struct EveryStartedAnew;
  virtual void startAnew() = 0;
};

// The first get() makes the state, and in a child of fork the first one there. It is never destroyed: threads use it until the process ends.
template <typename State>
class PerProcess final : StartedAnew {
 public:
  constexpr PerProcess() = default;
  State& get() {
    State* const known = state_.load(std::memory_order_acquire);
    return known != nullptr ? *known : make();
  }

 private:
  // If several threads make one, the first one counts.
  State& make() {
    auto made = std::make_unique<State>();
    enlist();
    State* known = nullptr;
    if (!state_.compare_exchange_strong(known, made.get())) return *known;
    return *made.release();
  }
  void startAnew() override { keepForEver(std::unique_ptr<State>(state_.exchange(nullptr))); }

  std::atomic<State*> state_{nullptr};
};

}  // namespace xylem
