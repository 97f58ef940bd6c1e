#include "runtime/gpu/block_pool.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace xylem::testing {
namespace {

// So that blocks also run at the very same time, where the machine has the cores.
constexpr int kMostProcessors = 4;
// A processor whose blocks have all waited that often for something outside of them sleeps.
constexpr int kPausesUntilSleep = 1024;

}  // namespace

struct BlockPool::Running {
  std::unique_ptr<FiberBlock> block;
  std::function<void()> done;
};

struct BlockPool::Processor {
  struct New {
    FiberBlock::Body body;
    std::function<void()> done;
  };
  // Under the pool's mutex.
  std::vector<New> added;
  int blocks = 0;
  std::condition_variable begins;
  // Its own.
  std::vector<Running> running;
  std::vector<std::unique_ptr<FiberBlock>> idle;
  std::thread thread;
};

BlockPool::BlockPool(int warps) : warps_(warps) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 0; i < std::clamp(cores, 2, kMostProcessors); ++i)
    processors_.push_back(std::make_unique<Processor>());
  for (auto& processor : processors_) processor->thread = std::thread([this, &p = *processor] { run(p); });
}

BlockPool::~BlockPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    for (auto& processor : processors_) processor->begins.notify_all();
  }
  for (auto& processor : processors_) processor->thread.join();
}

void BlockPool::start(FiberBlock::Body body, std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  ++busy_;
  Processor& chosen = **std::min_element(processors_.begin(), processors_.end(),
                                         [](auto& a, auto& b) { return a->blocks < b->blocks; });
  ++chosen.blocks;
  chosen.added.push_back({std::move(body), std::move(done)});
  chosen.begins.notify_one();
}

void BlockPool::run(Processor& processor) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      processor.begins.wait(lock, [&] { return ends_ || processor.blocks > 0; });
      if (processor.blocks == 0) return;
      takeNew(processor);
    }
    int fewestPauses = kPausesUntilSleep;
    for (Running& one : processor.running)
      if (one.block->resume())
        finish(processor, one);
      else
        fewestPauses = std::min(fewestPauses, one.block->pauses());
    std::erase_if(processor.running, [](const Running& one) { return one.block == nullptr; });
    // Others wait for the core, such as the ranks that these blocks wait for.
    if (fewestPauses < kPausesUntilSleep)
      std::this_thread::yield();
    else if (!processor.running.empty())
      usleep(20);
  }
}

void BlockPool::takeNew(Processor& processor) {
  for (Processor::New& added : processor.added) {
    if (processor.idle.empty()) processor.idle.push_back(std::make_unique<FiberBlock>(warps_));
    Running& begun =
        processor.running.emplace_back(Running{std::move(processor.idle.back()), std::move(added.done)});
    processor.idle.pop_back();
    begun.block->start(std::move(added.body));
  }
  processor.added.clear();
}

void BlockPool::finish(Processor& processor, Running& ended) {
  if (ended.done) ended.done();
  processor.idle.push_back(std::move(ended.block));
  const std::lock_guard lock(mutex_);
  --processor.blocks;
  if (--busy_ == 0) changed_.notify_all();
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
