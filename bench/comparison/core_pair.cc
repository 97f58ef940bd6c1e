#include "comparison/core_pair.h"

#include <sched.h>

#include "comparison/rank_loop.h"

namespace xylem::bench {

CorePair::CorePair(int first, int second) {
  threads_[0] = std::thread([this, first] { serve(0, first); });
  threads_[1] = std::thread([this, second] { serve(1, second); });
}

CorePair::~CorePair() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CorePair::run(const std::function<void(int side)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  busy_ = 2;
  ++round_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return busy_ == 0; });
}

void CorePair::serve(int side, int core) {
  pinTo({&core, 1});
  std::unique_lock lock(mutex_);
  for (unsigned seen = 0;; seen = round_) {
    changed_.wait(lock, [&] { return ended_ || round_ != seen; });
    if (ended_) return;
    const auto& work = *work_;
    lock.unlock();
    work(side);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

std::vector<int> usableCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) cores.push_back(core);
  return cores;
}

}  // namespace xylem::bench
