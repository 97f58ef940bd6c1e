#include "runtime/cuda_api/host_functions.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace xylem {
namespace {

class Callers {
 public:
  void call(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(function));
    if (idle_ >= waiting_.size()) {
      wake_.notify_one();
      return;
    }
    // Ends with the process: nobody can say when the program's functions return.
    std::thread([this] { loop(); }).detach();
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      while (waiting_.empty()) {
        ++idle_;
        wake_.wait(lock);
        --idle_;
      }
      const std::function<void()> next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
};

}  // namespace

void callElsewhere(std::function<void()> call) {
  // Never destroyed: its threads use it until the end.
  static Callers& callers = *std::make_unique<Callers>().release();
  callers.call(std::move(call));
}

}  // namespace xylem
