#pragma once
// A thread that waits for works and marks their futures. Waiting for a future does not run the operations, so
// this thread must run them meanwhile. It starts with the first future.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "torch/work.h"

namespace xylem::torch {

class Completer {
 public:
  Completer() = default;
  ~Completer();
  Completer(const Completer&) = delete;
  Completer& operator=(const Completer&) = delete;

  // Works complete in order. A work that a callback of a future adds completes at once: this thread runs the
  // callbacks, and they may wait for it.
  void complete(c10::intrusive_ptr<CollectiveWork> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<CollectiveWork>> works_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace xylem::torch
