#pragma once
// The processors of a GPU on the CPU: a few threads of the operating system, which take turns with the blocks that they run. All
// blocks that have been started run at the same time, so that they may wait for each other.
//
//   BlockPool pool(4);                                                         // warps of each block
//   for (Launch& launch : launches) pool.start([&](FiberBlock& block, int thread) { ... });
//   pool.wait();

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/gpu/fiber_block.h"

namespace xylem::testing {

class BlockPool {
 public:
  explicit BlockPool(int warps);
  ~BlockPool();

  // Runs `body` in each thread of a block, and then `done`.
  void start(FiberBlock::Body body, std::function<void()> done = {});
  // Returns once all blocks are done; false if that takes longer than the deadline.
  bool waitFor(std::chrono::milliseconds deadline);
  void wait();

 private:
  struct Running;
  struct Processor;
  void run(Processor& processor);
  void takeNew(Processor& processor);
  void finish(Processor& processor, Running& ended);

  int warps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Processor>> processors_;
  int busy_ = 0;
  bool ends_ = false;
};

}  // namespace xylem::testing
