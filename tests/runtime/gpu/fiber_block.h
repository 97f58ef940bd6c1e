#pragma once
// A block of a GPU on the CPU: its threads are fibers of one thread of the operating system, which takes them in turn. Barriers,
// votes and shuffles are as on a GPU; a fiber that waits for something outside of the block calls pause(), and then the block
// gives way to others of that thread.
//
//   FiberBlock block(4);                                      // warps
//   block.start([](FiberBlock& b, int thread) { ... });       // each of its threads will do this
//   while (!block.resume()) {}
//
// The thread sanitizer takes fibers for threads and sees only the order that barriers give them, so it finds data races between
// the threads of a block although they never run at the same time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace xylem::testing {

class FiberBlock {
 public:
  static constexpr int kLanes = 8;
  using Body = std::function<void(FiberBlock& block, int thread)>;

  explicit FiberBlock(int warps);
  ~FiberBlock();
  FiberBlock(const FiberBlock&) = delete;
  FiberBlock& operator=(const FiberBlock&) = delete;

  int threads() const { return threads_; }
  // From the next resume() on, every thread of the block runs `body`.
  void start(Body body);
  // Goes on with them, always in the same thread of the operating system. Returns true when all have returned, and false when they
  // wait for something outside of the block.
  bool resume();
  // How often its threads have waited for something outside of the block since one of them came to a barrier.
  int pauses() const { return pauses_; }

  // For fibers; `self` is the thread of the block that calls.
  void arrive(int self, int barrier, int threads);
  void sync(int self, int barrier, int threads);
  void syncWarp(int self);
  // The values of all threads of the warp, which all have to call it.
  const std::uint64_t* exchange(int self, std::uint64_t value);
  // Lets other fibers run, and now and then other blocks.
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
  int next_ = 0;  // the fiber that resume() goes on with
  Body body_;
  std::unique_ptr<Fiber[]> ownFibers_;
  std::unique_ptr<BarrierState[]> ownBarriers_;
  std::unique_ptr<Warp[]> ownWarps_;
  // The same without an access that the thread sanitizer would see. The last fiber is the caller of resume().
  Fiber* fibers_;
  BarrierState* barriers_;
  Warp* warps_;
};

}  // namespace xylem::testing
