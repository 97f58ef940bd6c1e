#pragma once
// The background thread of one device, which runs what nobody waits for. See runtime/device/scheduler.h.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace xylem {

class Scheduler;

class Worker {
 public:
  Worker(Scheduler& scheduler, int device) : scheduler_(scheduler), device_(device) {}
  // Ends the thread after the step it is in.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int device() const { return device_; }
  // After something was enqueued: starts the thread, or wakes it if it sleeps for good. Otherwise costs two
  // loads.
  void notify();
  // The same for what takes so long that the thread had better look at once, and not after its nap.
  void hurry();

 private:
  enum State : int { kNotStarted, kAwake, kAsleep, kStopping };
  void loop();
  // Sleeps until notified unless there is work; false if the thread shall end.
  bool sleep();
  void wakeFromNap();
  void nap(std::chrono::microseconds longest);

  Scheduler& scheduler_;
  const int device_;
  std::size_t turn_ = 0;  // the next stream to look at
  std::atomic<int> state_{kNotStarted};
  std::mutex startMutex_;
  std::mutex napMutex_;
  std::condition_variable napOver_;
  bool hurried_ = false;
  std::thread thread_;
};

}  // namespace xylem
