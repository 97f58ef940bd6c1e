#pragma once
// Watches the works of a process group: a thread that aborts operations that take too long, and keeps works
// alive that the program has dropped before they were done.
//
//   Watch watch([&] { return breakOffLateMessages(); });    // what else has deadlines; the next of them
//   watch.add(work);
//   watch.note(deadline);                                   // somebody will be waiting no longer than that

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "torch/work.h"

namespace xylem::torch {

class Watch {
 public:
  using Others = std::function<std::optional<Clock::time_point>()>;

  explicit Watch(Others others);
  ~Watch() { stop(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void add(const c10::intrusive_ptr<CollectiveWork>& work);
  void note(Clock::time_point deadline);
  // Ends the thread. Returns whether works are left that are not done.
  bool stop();

 private:
  void run();
  void forgetDone();

  const Others others_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<CollectiveWork>> works_;
  Clock::time_point wakeUp_ = Clock::time_point::max();
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace xylem::torch
