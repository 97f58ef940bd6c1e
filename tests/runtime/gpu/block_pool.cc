#include "runtime/gpu/block_pool.h"

namespace xylem::testing {

struct BlockPool::Processor {
  std::function<void(FiberBlock&)> work;  // empty: it is free
  std::condition_variable begins;
  std::thread thread;
};

BlockPool::BlockPool(int warps) : warps_(warps) {}

BlockPool::~BlockPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    for (auto& processor : processors_) processor->begins.notify_all();
  }
  for (auto& processor : processors_) processor->thread.join();
}

void BlockPool::start(std::function<void(FiberBlock&)> work) {
  const std::lock_guard lock(mutex_);
  ++busy_;
  for (auto& processor : processors_) {
    if (processor->work) continue;
    processor->work = std::move(work);
    processor->begins.notify_one();
    return;
  }
  Processor& added = *processors_.emplace_back(std::make_unique<Processor>());
  added.work = std::move(work);
  added.thread = std::thread([this, &added] { run(added); });
}

void BlockPool::run(Processor& processor) {
  FiberBlock block(warps_);
  std::unique_lock lock(mutex_);
  for (;;) {
    processor.begins.wait(lock, [&] { return ends_ || processor.work; });
    if (!processor.work) return;
    lock.unlock();
    processor.work(block);
    lock.lock();
    processor.work = nullptr;
    if (--busy_ == 0) changed_.notify_all();
  }
}

bool BlockPool::waitFor(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [this] { return busy_ == 0; });
}

void BlockPool::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
}

}  // namespace xylem::testing
