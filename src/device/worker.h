#pragma once
// The background thread of one device, which runs what nobody waits for. See device/scheduler.h.

#include <atomic>
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

 private:
  enum State : int { kNotStarted, kAwake, kAsleep, kStopping };
  void loop();
  // Sleeps until notified unless there is work; false if the thread shall end.
  bool sleep();

  Scheduler& scheduler_;
  const int device_;
  std::atomic<int> state_{kNotStarted};
  std::mutex startMutex_;
  std::thread thread_;
};

}  // namespace xylem
