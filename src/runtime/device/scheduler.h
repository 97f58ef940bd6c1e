#pragma once
// Who runs the streams of this process. Whoever waits for a stream runs its tasks inline and, while these
// cannot go on, those of streams nobody waits for; a worker thread per device takes over what nobody waits
// for at all.
//
//   Scheduler& scheduler = Scheduler::instance();
//   scheduler.enqueue(stream, task);   // returns at once
//   scheduler.wait(stream);            // runs it
//
// A worker starts with the first task of its device. It looks for unattended work every few milliseconds
// while there is work at all, so that enqueueing wakes nobody, and sleeps for good when there was none for a
// while.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/device/waiting.h"

namespace xylem {

class Worker;

class Scheduler {
 public:
  static Scheduler& instance();
  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // A stream may run between attach and detach. detach waits for its tasks.
  void attach(Stream& stream);
  void detach(Stream& stream);

  // The device's default stream, made on first use; it lives as long as the scheduler.
  Stream& defaultStream(int device);

  // `lasting`: it will take long enough for a worker to be woken for it, should nobody wait for it.
  void enqueue(Stream& stream, Task& task, bool lasting = false);
  // After enqueueing what takes no time to speak of: begins with it at once, if nothing is before it.
  void begin(Stream& stream) noexcept;
  // Returns when everything enqueued before the call is done; errors stay in the stream.
  void wait(Stream& stream);
  // Runs whatever can run in this process until `done` says so.
  void waitUntil(const std::function<bool()>& done);
  // Returns when no stream of the device has work left; the first error found in one of them.
  std::optional<Error> waitDevice(int device);

  // There are more ranks than cores for them, from now on.
  void noteCrowd() { crowded_.store(true, std::memory_order_relaxed); }
  WaitPolicy policy() const;

 private:
  friend class Worker;
  // kTaken: there is work, but others are at it, who may leave it as it is at any time.
  enum class Helped { kAdvanced, kBlocked, kTaken, kNothing };
  // Runs one unattended stream (of `device`, or of any if that is negative) other than `own`, if there is
  // one: the next after `turn`, which is the caller's own. With one for all, a helper could find the same
  // stream for ever, as the others always move on to just before it.
  Helped helpOne(const Stream* own, int device, bool checkStalls, std::size_t& turn);
  Worker& workerOf(int device);

  std::mutex mutex_;  // guards the lists; never held while tasks run
  std::vector<Stream*> streams_;
  std::map<int, std::unique_ptr<Stream>> defaults_;
  std::vector<std::unique_ptr<Worker>> workers_;  // after the streams, so that they end first
  std::atomic<bool> crowded_{false};
};

}  // namespace xylem
