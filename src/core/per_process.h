#pragma once
// State that belongs to one process: a child of fork finds it new, whatever its parent's threads did with the old one at the time. One of
// them may have held a lock in it, which would stay locked in the child for ever.
//
//   struct Pool { std::mutex mutex; std::vector<int> free; };
//   Pool& pool() {
//     static PerProcess<Pool>& pools = *new PerProcess<Pool>;
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
  // It has to live as long as the process.
  StartedAnew();
  ~StartedAnew() = default;

 private:
  // Called in each child of fork, where there is only the thread that forked.
  virtual void startAnew() = 0;
  static void startAllAnew();

  StartedAnew* next_ = nullptr;
};

// Making a State is quick and takes no lock.
template <typename State>
class PerProcess final : StartedAnew {
 public:
  State& get() const { return *state_.load(std::memory_order_acquire); }

 private:
  void startAnew() override {
    keepForEver(std::unique_ptr<State>(state_.exchange(std::make_unique<State>().release())));
  }

  std::atomic<State*> state_{std::make_unique<State>().release()};
};

}  // namespace xylem
