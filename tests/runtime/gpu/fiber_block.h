#pragma once
// A block of a GPU on the CPU: its threads are fibers of one thread of the operating system, which takes them in turn. Barriers,
// votes and shuffles are as on a GPU; a fiber that waits for something outside of the block calls pause().
//
//   FiberBlock block(4);                                           // warps
//   block.run([](FiberBlock& b, int thread, void* data) { ... }, data);
//
// The thread sanitizer takes fibers for threads and sees only the order that barriers give them, so it finds data races between
// the threads of a block although they never run at the same time.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace xylem::testing {

class FiberBlock {
 public:
  static constexpr int kLanes = 8;
  using Body = void (*)(FiberBlock& block, int thread, void* data);

  explicit FiberBlock(int warps);
  ~FiberBlock();
  FiberBlock(const FiberBlock&) = delete;
  FiberBlock& operator=(const FiberBlock&) = delete;

  int threads() const { return threads_; }
  // Runs `body` in every thread of the block and returns when all have returned.
  void run(Body body, void* data);

  // For fibers; `self` is the thread of the block that calls.
  void arrive(int self, int barrier, int threads);
  void sync(int self, int barrier, int threads);
  void syncWarp(int self);
  // The values of all threads of the warp, which all have to call it.
  const std::uint64_t* exchange(int self, std::uint64_t value);
  // Lets other fibers run, and now and then other threads of the operating system.
  void pause(int self);

 private:
  struct Fiber;
  struct BarrierState;
  struct Warp;
  static void enter();

  void awaitChange(int self, const unsigned& generation, unsigned seen);
  void giveWay(int self);
  void finish(int self);
  void switchTo(int from, int to);
  void loop(int self);

  int threads_;
  int finished_ = 0;
  int pauses_ = 0;
  Body body_ = nullptr;
  void* data_ = nullptr;
  std::unique_ptr<Fiber[]> ownFibers_;
  std::unique_ptr<BarrierState[]> ownBarriers_;
  std::unique_ptr<Warp[]> ownWarps_;
  // The same without an access that the thread sanitizer would see. The last fiber is the caller of run().
  Fiber* fibers_;
  BarrierState* barriers_;
  Warp* warps_;
};

}  // namespace xylem::testing
