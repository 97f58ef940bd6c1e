#pragma once
// The processors of a GPU on the CPU: threads of the operating system that each run one block at a time, and keep its fibers for
// the next one.
//
//   BlockPool pool(4);                                         // warps of each block
//   for (Launch& launch : launches) pool.start(i++, launch);   // a block each
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

  // Runs `work` with a block of its own.
  void start(std::function<void(FiberBlock&)> work);
  // Returns once all work is done; false if that takes longer than the deadline.
  bool waitFor(std::chrono::milliseconds deadline);
  void wait();

 private:
  struct Processor;
  void run(Processor& processor);

  int warps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Processor>> processors_;
  int busy_ = 0;
  bool ends_ = false;
};

}  // namespace xylem::testing
