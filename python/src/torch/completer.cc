#include "torch/completer.h"

namespace xylem::torch {

Completer::~Completer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Completer::complete(c10::intrusive_ptr<CollectiveWork> work) {
  std::unique_lock lock(mutex_);
  if (thread_.get_id() == std::this_thread::get_id() || ending_) {
    lock.unlock();
    work->settle();
    work->markFuture();
    return;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  works_.push_back(std::move(work));
  changed_.notify_all();
}

void Completer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !works_.empty(); });
    if (works_.empty()) return;
    c10::intrusive_ptr<CollectiveWork> work = std::move(works_.front());
    works_.pop_front();
    lock.unlock();
    work->settle();
    work->markFuture();
    work.reset();
    lock.lock();
  }
}

}  // namespace xylem::torch
