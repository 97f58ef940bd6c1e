#pragma once
// A stream: tasks that run one after the other, in the order in which they were enqueued, on the thread that
// runs the stream.
//
//   stream.enqueue(task);
//   if (stream.tryClaim()) { stream.run(); stream.release(); }
//
// Any thread may enqueue, without a lock or an allocation. Running needs the claim, which one thread has at a
// time: a thread that waits for the stream, one that waits for another stream and helps, or the device's
// worker. The scheduler decides which (runtime/device/scheduler.h).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "runtime/device/task.h"

namespace xylem::device {

class Worker;

class Stream {
 public:
  explicit Stream(int device) : device_(device) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const { return device_; }

  void enqueue(Task& task) noexcept;
  // The numbers of tasks ever enqueued and ever finished. All tasks enqueued before a call of enqueued() are
  // done once finished() has reached its result.
  std::uint64_t enqueued() const { return enqueued_.load(std::memory_order_seq_cst); }
  std::uint64_t finished() const { return finished_.load(std::memory_order_acquire); }
  bool pending() const { return finished() < enqueued(); }

  bool tryClaim() noexcept {
    return !claimed_.load(std::memory_order_relaxed) && !claimed_.exchange(true, std::memory_order_acquire);
  }
  void release() noexcept { claimed_.store(false, std::memory_order_release); }

  // With the claim: runs tasks until one would block, one only advanced, or none is left. A task that fails
  // is finished with its error. kDone: no task is left.
  Progress run() noexcept { return run(Which::kAll); }
  // With the claim: runs brief tasks as long as they can go on. Returns whether any did.
  bool catchUp() noexcept;
  // Whether the first task is not brief, as far as the threads that ran the stream have seen: there is nothing to catch up with.
  bool lasting() const noexcept { return lasting_.load(std::memory_order_relaxed); }
  // Whether the calling thread is inside of run(), of any stream.
  static bool runsOnThisThread() noexcept;
  // With the claim, after run() returned kWouldBlock: the first task checks whether it waits in vain.
  void checkStall() noexcept;

  // In a child of fork: the stream is empty, as what its parent enqueued is the parent's to run. No other thread uses it.
  void startAnew();

  // The worker of the stream's device; null until the scheduler has looked it up.
  Worker* worker() const noexcept { return worker_.load(std::memory_order_acquire); }
  void setWorker(Worker* worker) noexcept { worker_.store(worker, std::memory_order_release); }

  // True if a task has failed since the last takeError().
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  // Takes the first error of a task since the last call.
  std::optional<Error> takeError();
  // The same, and leaves it.
  std::optional<Error> error() const;

  // Counts the threads that wait for this stream. While there is one, other threads leave the stream to it.
  void attend() noexcept { waiters_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { waiters_.fetch_sub(1, std::memory_order_relaxed); }
  bool attended() const noexcept { return waiters_.load(std::memory_order_relaxed) > 0; }
  // Long tasks: a worker is woken for them, unless a thread came for the stream at once when it was given such tasks the last time.
  // Waking one takes a core away from ranks for some ten microseconds. Before a long task is enqueued: returns whether to wake one.
  bool noteLong(std::chrono::steady_clock::time_point now) noexcept;
  // A thread of the program has come for the stream.
  void noteAwaited() noexcept {
    if (longSince_.load(std::memory_order_relaxed) != 0) learnAwaited();
  }
  // A worker runs the stream, as no thread has come for it.
  void noteLeft() noexcept {
    if (awaitedSoon_.load(std::memory_order_relaxed)) awaitedSoon_.store(false, std::memory_order_relaxed);
    if (longSince_.load(std::memory_order_relaxed) != 0) longSince_.store(0, std::memory_order_relaxed);
  }
  // A thread that asks again and again whether the stream is done, and runs it each time, says so. The device's
  // worker leaves the stream to it, for one look.
  void notePolling() noexcept { polled_.store(true, std::memory_order_relaxed); }
  bool takePolled() noexcept {
    return polled_.load(std::memory_order_relaxed) && polled_.exchange(false, std::memory_order_relaxed);
  }

 private:
  enum class Which { kAll, kBrief };
  // kBrief: up to the first task that is not brief.
  Progress run(Which which) noexcept;
  void learnAwaited() noexcept;
  void fetch() noexcept;
  void noteFront() noexcept;
  void finishFront(const Error* error) noexcept;

  const int device_;
  // Written by threads that enqueue.
  alignas(64) std::atomic<Task*> incoming_{nullptr};  // newest first
  std::atomic<std::uint64_t> enqueued_{0};
  std::atomic<int> waiters_{0};
  std::atomic<bool> polled_{false};
  std::atomic<std::int64_t> longSince_{0};  // when a long task came for which no thread has come yet; 0: none
  std::atomic<bool> awaitedSoon_{false};    // the last time a thread came at once
  std::atomic<Worker*> worker_{nullptr};
  // Written by the thread that has the claim.
  alignas(64) std::atomic<bool> claimed_{false};
  std::atomic<bool> lasting_{false};
  std::atomic<bool> failed_{false};
  std::atomic<std::uint64_t> finished_{0};
  Task* front_ = nullptr;  // oldest first
  mutable std::mutex errorMutex_;
  std::optional<Error> error_;
};

}  // namespace xylem::device
