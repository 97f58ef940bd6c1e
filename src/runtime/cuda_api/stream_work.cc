#include "runtime/cuda_api/stream_work.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/per_process.h"
#include "runtime/device/host_device.h"

namespace xylem::cuda_api {
namespace {

// Threads that call the functions of the program, each one at a time.
class HostThreads {
 public:
  // Never destroyed: its threads use it until the process ends. A child of fork has none of them.
  static HostThreads& ofThisProcess() {
    static constinit PerProcess<HostThreads> threads;
    return threads.get();
  }

  void call(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(function));
    if (idle_ >= waiting_.size()) {
      wake_.notify_one();
      return;
    }
    // Ends with the process: the program's functions may never return.
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

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<device::OwnedStream>> all;
  std::vector<device::Stream*> free;
};
// Never destroyed: threads that end with the process still give streams back.
Pool& pool() {
  static constinit PerProcess<Pool> pools;
  return pools.get();
}

}  // namespace

void callOnHostThread(std::function<void()> call) { HostThreads::ofThisProcess().call(std::move(call)); }

PooledStream::PooledStream(int device) {
  Pool& streams = pool();
  const std::lock_guard lock(streams.mutex);
  const auto idle = std::find_if(
      streams.free.begin(), streams.free.end(),
      [device](const device::Stream* stream) { return stream->device() == device && !stream->pending(); });
  if (idle == streams.free.end()) {
    stream_ = &streams.all.emplace_back(std::make_unique<device::OwnedStream>(device))->get();
    return;
  }
  stream_ = *idle;
  streams.free.erase(idle);
  stream_->takeError();  // drops an error of the last borrower's work
}

PooledStream::~PooledStream() {
  Pool& streams = pool();
  const std::lock_guard lock(streams.mutex);
  streams.free.push_back(stream_);
}

}  // namespace xylem::cuda_api
