#pragma once
// Runs the streams of this process. A thread that waits for a stream runs the stream's tasks itself and,
// while these cannot go on, those of streams for which no thread waits. A thread that only asks whether a stream
// is done runs it for one turn, so that asking in a loop is as fast as waiting. One worker thread per device
// runs streams for which no thread waits or asks.
//
//   Scheduler& scheduler = Scheduler::instance();
//   scheduler.enqueue(stream, task);   // returns at once
//   scheduler.wait(stream);            // runs it
//   scheduler.poll(&stream);           // runs it until its task cannot go on
//
// A worker starts with the first task of its device. While there is work, it looks for unattended streams
// every few milliseconds, so that enqueueing wakes no thread; without work for a while, it sleeps until it is
// notified.
//
// A child of fork has the streams, but not the threads. Its workers start anew, and its streams are empty: what was in them is the
// parent's to run, and the child does not wait for it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/device/waiting.h"

namespace xylem::device {

class Scheduler;

// The background thread of one device.
class Worker {
 public:
  Worker(Scheduler& scheduler, int device) : scheduler_(scheduler), device_(device) {}
  ~Worker() { end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int device() const { return device_; }
  // After something was enqueued: starts the thread, or wakes it if it sleeps for good. Otherwise costs two
  // loads.
  void notify();
  // The same for a task that takes long: the thread looks at once and not after its nap.
  void hurry();
  // In a child of fork: the thread is the parent's.
  void startAnew();
  // Ends the thread after the step that it is in. It does not start again.
  void end();

 private:
  enum State : int { kNotStarted, kAwake, kAsleep, kStopping };
  void loop();
  // Sleeps until notified, unless there is work. False if the thread has to end.
  bool sleep();
  void wakeFromNap();
  // Sleeps for at most `longest`, or until hurry().
  void nap(std::chrono::microseconds longest);

  Scheduler& scheduler_;
  const int device_;
  std::size_t turn_ = 0;  // the next stream to look at
  std::atomic<int> state_{kNotStarted};
  struct Thread {
    std::mutex startMutex;
    std::mutex napMutex;
    std::condition_variable napOver;
    bool hurried = false;
    std::thread thread;
  };
  std::unique_ptr<Thread> own_ = std::make_unique<Thread>();
};

class Scheduler {
 public:
  static Scheduler& instance();
  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // A stream may run between attach() and detach(), which waits for its tasks.
  void attach(Stream& stream);
  void detach(Stream& stream);

  // The device's default stream, created on first use; it lives as long as the scheduler.
  Stream& defaultStream(int device);

  // `lasting`: the task takes so long that waking a worker for it pays, if the program does not wait for the stream at once.
  void enqueue(Stream& stream, Task& task, bool lasting = false);
  // After enqueueing a very short task: runs it at once, if no other task is before it.
  void begin(Stream& stream) noexcept;
  // Before a thread enqueues: runs the brief tasks in front of the stream, as far as they can go on, and those of other streams if the thread
  // has enqueued to several. Returns whether the stream is empty. Does nothing inside of a task.
  bool catchUp(Stream& stream) noexcept;
  // After a thread has enqueued: if more than kMostAhead tasks are in the stream, runs it until half as many are left, or until it has not
  // advanced for a moment. A GPU takes 1024 launches before it lets the program wait. Does nothing inside of a task.
  static void limit(Stream& stream) {
    const std::uint64_t finished = stream.finished();  // first: so it is never more than the other one
    const std::uint64_t enqueued = stream.enqueued();
    if (enqueued - finished > kMostAhead) instance().runDown(stream, enqueued - kMostAhead / 2);
  }
  static constexpr std::uint64_t kMostAhead = 1024;
  // Returns when all tasks enqueued before the call are done. Errors stay in the stream.
  void wait(Stream& stream);
  // A turn of a thread that asks again and again whether something is done: runs `stream`, or, if that is null
  // or cannot go on, another one, until its task would block or has advanced by one step. Never sleeps, but
  // offers the core to other threads if it has done nothing for a while.
  // Returns whether something advanced. Does nothing inside of a task.
  bool poll(Stream* stream);
  // A longer turn, of a thread that may await the end of `stream` without asking for it: polls as long as something
  // advances, for a few milliseconds at most, and wakes the worker for the rest.
  void takeTurn(Stream& stream);
  // Runs all tasks of this process that can run, until `done` returns true.
  void waitUntil(const std::function<bool()>& done);
  // Waits until no stream of the device has work left. Returns the first error found in one of them.
  std::optional<Error> waitDevice(int device);

  // From now on the host has more ranks than cores: threads do not spin.
  void setOversubscribed() { oversubscribed_.store(true, std::memory_order_relaxed); }
  WaitPolicy policy() const;

 private:
  friend class Worker;
  // kTaken: there is work, but other threads have it. They may stop waiting for it at any time.
  enum class Helped { kAdvanced, kBlocked, kTaken, kNothing };
  // On whose behalf a thread helps: for itself, as it waits; in a loop of polls; in a poll that may be the only one; before it enqueues,
  // with brief tasks only; or as a device's worker.
  enum class Helper { kWaiting, kPolling, kAsking, kCatchingUp, kWorker };
  // A poll has moved nothing on, another stream, or its own.
  enum class Polled { kNothing, kOthers, kStream };
  // Runs one unattended stream other than `own`, of `device`, or of any device if that is negative: the next
  // one after `turn`. Each caller has a `turn` of its own: if all shared one, other helpers could always move
  // it to just before the same stream, so that one helper would never see another.
  Helped helpOne(const Stream* own, int device, bool checkStalls, std::size_t& turn,
                 Helper helper = Helper::kWaiting);
  Polled pollOnce(Stream* stream);
  void runDown(Stream& stream, std::uint64_t target);
  Worker& workerOf(int device);
  static Scheduler& make();
  void endWorkers();
  void startAnew();

  std::mutex mutex_;  // guards the lists below; never held while tasks run
  std::vector<Stream*> streams_;
  std::map<int, std::unique_ptr<Stream>> defaults_;
  std::vector<std::unique_ptr<Worker>> workers_;  // after the streams, so that they end first
  bool ended_ = false;                            // workers have no threads any more
  std::atomic<bool> oversubscribed_{false};
};

}  // namespace xylem::device
