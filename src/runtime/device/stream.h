#pragma once
// A stream: tasks that run one after the other, in the order they were enqueued, on whichever thread runs the
// stream.
//
//   stream.enqueue(task);
//   if (stream.tryClaim()) { stream.run(); stream.release(); }
//
// Any thread may enqueue, without a lock or an allocation. Running needs the claim, which one thread has at a
// time: somebody who waits for the stream, somebody who waits for another one and helps, or the device's
// worker. Who decides that is the scheduler (runtime/device/scheduler.h).

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "runtime/device/task.h"

namespace xylem {

class Worker;

class Stream {
 public:
  explicit Stream(int device) : device_(device) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const { return device_; }

  void enqueue(Task& task) noexcept;
  // Tasks ever enqueued and ever finished: everything enqueued so far is done once finished() >= enqueued().
  std::uint64_t enqueued() const { return enqueued_.load(std::memory_order_seq_cst); }
  std::uint64_t finished() const { return finished_.load(std::memory_order_acquire); }
  bool pending() const { return finished() < enqueued(); }

  bool tryClaim() noexcept {
    return !claimed_.load(std::memory_order_relaxed) && !claimed_.exchange(true, std::memory_order_acquire);
  }
  void release() noexcept { claimed_.store(false, std::memory_order_release); }

  // With the claim: runs tasks until one would block, says that it only advanced, or none is left. Tasks that
  // fail are finished with their error. kDone: the queue is empty.
  Progress run() noexcept;
  // With the claim, after run() said kWouldBlock: lets the first task look whether it waits in vain.
  void checkStall() noexcept;

  // The worker of the stream's device, which the scheduler looks up once; null before.
  Worker* worker() const noexcept { return worker_.load(std::memory_order_acquire); }
  void setWorker(Worker* worker) noexcept { worker_.store(worker, std::memory_order_release); }

  // Whether a task has failed since the last takeError().
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  // The first error of a task since the last call.
  std::optional<Error> takeError();

  // Threads that wait for this stream right now; the others leave it to them.
  void attend() noexcept { waiters_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { waiters_.fetch_sub(1, std::memory_order_relaxed); }
  bool attended() const noexcept { return waiters_.load(std::memory_order_relaxed) > 0; }

 private:
  void fetch() noexcept;
  void finishFront(const Error* error) noexcept;

  const int device_;
  // Written by those who enqueue.
  alignas(64) std::atomic<Task*> incoming_{nullptr};  // newest first
  std::atomic<std::uint64_t> enqueued_{0};
  std::atomic<int> waiters_{0};
  std::atomic<Worker*> worker_{nullptr};
  // Written by whoever has the claim.
  alignas(64) std::atomic<bool> claimed_{false};
  std::atomic<bool> failed_{false};
  std::atomic<std::uint64_t> finished_{0};
  Task* front_ = nullptr;  // oldest first
  std::mutex errorMutex_;
  std::optional<Error> error_;
};

}  // namespace xylem
