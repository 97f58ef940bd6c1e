#include "runtime/device/scheduler.h"

#include <algorithm>

#include "core/per_thread.h"
#include "runtime/device/host_device.h"
#include "runtime/device/worker.h"

namespace xylem {
namespace {

// The stream into which this thread enqueued last.
XYLEM_THREAD_LOCAL const Stream* latest = nullptr;

// A thread that waits for what it enqueued last has, as a rule, nothing else to do: it looks around only
// after so many vain tries, as looking takes other threads' cache lines away.
constexpr int kTriesBeforeHelping = 32;

// Marks a stream as waited for.
class Attendance {
 public:
  explicit Attendance(Stream& stream) : stream_(stream) { stream_.attend(); }
  ~Attendance() { stream_.leave(); }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

 private:
  Stream& stream_;
};

}  // namespace

Scheduler& Scheduler::instance() {
  static Scheduler scheduler;
  return scheduler;
}

Scheduler::Scheduler() = default;
Scheduler::~Scheduler() = default;

void Scheduler::attach(Stream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(&stream);
}

void Scheduler::detach(Stream& stream) {
  wait(stream);
  // Helpers claim under the mutex: once the stream is off the list, whoever still has the claim is the last
  // one.
  {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, &stream);
  }
  Backoff backoff(policy());
  while (!stream.tryClaim()) backoff.pause();
}

Stream& Scheduler::defaultStream(int device) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Stream>& stream = defaults_[device];
  if (!stream) {
    stream = std::make_unique<Stream>(device);
    streams_.push_back(stream.get());
  }
  return *stream;
}

Worker& Scheduler::workerOf(int device) {
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_)
    if (worker->device() == device) return *worker;
  return *workers_.emplace_back(std::make_unique<Worker>(*this, device));
}

void Scheduler::enqueue(Stream& stream, Task& task, bool lasting) {
  Worker* worker = stream.worker();
  if (worker == nullptr) {
    worker = &workerOf(stream.device());
    stream.setWorker(worker);
  }
  latest = &stream;
  stream.enqueue(task);
  if (lasting)
    worker->hurry();
  else
    worker->notify();
}

void Scheduler::begin(Stream& stream) noexcept {
  if (stream.enqueued() - stream.finished() != 1 || !stream.tryClaim()) return;
  stream.run();
  stream.release();
}

Scheduler::Helped Scheduler::helpOne(const Stream* own, int device, bool checkStalls, std::size_t& turn) {
  Stream* chosen = nullptr;
  bool taken = false;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return Helped::kBlocked;  // somebody else looks right now
    for (std::size_t i = 0; i < streams_.size() && chosen == nullptr; ++i) {
      Stream* stream = streams_[(turn + i) % streams_.size()];
      if (stream == own || (device >= 0 && stream->device() != device)) continue;
      if (!stream->pending()) continue;
      if (stream->attended() || !stream->tryClaim()) {
        taken = true;
        continue;
      }
      chosen = stream;
      turn = (turn + i + 1) % streams_.size();
    }
  }
  if (chosen == nullptr) return taken ? Helped::kTaken : Helped::kNothing;
  const Progress progress = chosen->run();
  if (progress == Progress::kWouldBlock && checkStalls) chosen->checkStall();
  chosen->release();
  return progress == Progress::kWouldBlock ? Helped::kBlocked : Helped::kAdvanced;
}

void Scheduler::wait(Stream& stream) {
  const std::uint64_t target = stream.enqueued();
  if (stream.finished() >= target) return;
  const Attendance attendance(stream);
  Backoff backoff(policy());
  std::size_t turn = 0;
  bool mine = false;
  int triesLeft = latest == &stream ? kTriesBeforeHelping : 0;
  while (stream.finished() < target) {
    if (!mine) mine = stream.tryClaim();
    bool advanced = false;
    const bool stalled = backoff.takeStall();
    if (mine) {
      advanced = stream.run() != Progress::kWouldBlock;
      if (!advanced && stalled) stream.checkStall();
    }
    if (!advanced && triesLeft-- <= 0 && stream.finished() < target)
      advanced = helpOne(&stream, -1, stalled, turn) == Helped::kAdvanced;
    if (advanced)
      backoff.reset();
    else
      backoff.pause();
  }
  if (mine) stream.release();
}

void Scheduler::waitUntil(const std::function<bool()>& done) {
  Backoff backoff(policy());
  std::size_t turn = 0;
  while (!done()) {
    if (helpOne(nullptr, -1, backoff.takeStall(), turn) == Helped::kAdvanced)
      backoff.reset();
    else
      backoff.pause();
  }
}

std::optional<Error> Scheduler::waitDevice(int device) {
  waitUntil([this, device] {
    const std::lock_guard lock(mutex_);
    return std::none_of(streams_.begin(), streams_.end(),
                        [device](const Stream* s) { return s->device() == device && s->pending(); });
  });
  const std::lock_guard lock(mutex_);
  for (Stream* stream : streams_)
    if (stream->device() == device)
      if (auto error = stream->takeError()) return error;
  return std::nullopt;
}

WaitPolicy Scheduler::policy() const { return chooseWaitPolicy(crowded_.load(std::memory_order_relaxed)); }

}  // namespace xylem
