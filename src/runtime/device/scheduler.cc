#include "runtime/device/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/error.h"
#include "core/keep_for_ever.h"
#include "core/log.h"
#include "core/per_thread.h"
#include "runtime/device/host_device.h"

namespace xylem::device {
namespace {

// The stream to which this thread enqueued last, and whether one of the few tasks before went to another stream.
XYLEM_THREAD_LOCAL const Stream* latest = nullptr;
XYLEM_THREAD_LOCAL int takesTurns = 0;
constexpr int kTakesTurns = 8;

// A thread that waits for the stream to which it enqueued last usually finishes it alone. It looks for other
// streams only after this many tries in vain, as looking takes cache lines away from other threads.
constexpr int kTriesBeforeHelping = 32;

// A thread is in a loop if this many of its calls take less than a millisecond.
constexpr unsigned kCallsPerLook = 16;
constexpr std::chrono::milliseconds kLoopTime{1};

// Finds out whether a thread makes the same call in a loop.
class LoopWatch {
 public:
  void noteCall() {
    if (++calls_ % kCallsPerLook != 0) return;
    const auto now = std::chrono::steady_clock::now();
    inLoop_ = now - lastLook_ < kLoopTime;
    lastLook_ = now;
  }
  bool sawNone() const { return calls_ == 0; }
  bool inLoop() const { return inLoop_; }

 private:
  unsigned calls_ = 0;  // ever
  bool inLoop_ = false;
  std::chrono::steady_clock::time_point lastLook_{};
};

// The state that a thread that polls keeps from one poll to the next.
struct Poller {
  Backoff backoff{WaitPolicy{}};
  std::size_t turn = 0;
  int triesLeft = 0;  // before it helps other streams
  LoopWatch loop;
};
// The same of a thread that enqueues.
struct Enqueuer {
  std::size_t turn = 0;
  LoopWatch loop;
};

// How long a turn before another one's work takes, and how much of it in vain.
constexpr std::chrono::milliseconds kLongestTurn{4};
constexpr std::chrono::microseconds kIdleTurn{100};
// A thread that is far ahead goes on after this time in vain: it may be the one that other ranks wait for.
constexpr std::chrono::microseconds kIdleLimit{1000};
// Another thread may want to abort the communicator, which waits for the call.
constexpr std::chrono::seconds kLongestRunDown{1};

// The scheduler of this process, while there is one.
std::atomic<Scheduler*> alive{nullptr};

// Marks a stream as one for which a thread waits.
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

// Never destroyed: destructors of the program's static objects may make calls. Only its threads end before what they use does.
Scheduler& Scheduler::instance() {
  static Scheduler& scheduler = make();
  return scheduler;
}

Scheduler& Scheduler::make() {
  Scheduler& made = *std::make_unique<Scheduler>().release();
  struct AtExit {
    ~AtExit() { scheduler.endWorkers(); }
    Scheduler& scheduler;
  };
  static const AtExit atExit{made};
  return made;
}

void Scheduler::endWorkers() {
  std::vector<Worker*> workers;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (const auto& worker : workers_) workers.push_back(worker.get());
  }
  for (Worker* const worker : workers) worker->end();
}

Scheduler::Scheduler() {
  if (Scheduler* none = nullptr; !alive.compare_exchange_strong(none, this)) return;
  // A thread that forks has the lists to itself, so the child finds them whole.
  static const int registered = pthread_atfork(
      [] {
        if (Scheduler* const scheduler = alive.load()) scheduler->mutex_.lock();
      },
      [] {
        if (Scheduler* const scheduler = alive.load()) scheduler->mutex_.unlock();
      },
      [] {
        if (Scheduler* const scheduler = alive.load()) scheduler->startAnew();
      });
  static_cast<void>(registered);
}
Scheduler::~Scheduler() {
  Scheduler* self = this;
  alive.compare_exchange_strong(self, nullptr);
}

// In a child of fork, whose mutex_ the forking thread has locked.
void Scheduler::startAnew() {
  for (const auto& worker : workers_) worker->startAnew();
  for (Stream* stream : streams_) stream->startAnew();
  mutex_.unlock();
}

void Scheduler::attach(Stream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(&stream);
}

void Scheduler::detach(Stream& stream) {
  wait(stream);
  // Helpers claim streams under the mutex: once the stream is off the list, the thread that has the claim is
  // the last one.
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
  Worker& made = *workers_.emplace_back(std::make_unique<Worker>(*this, device));
  if (ended_) made.end();
  return made;
}

void Scheduler::enqueue(Stream& stream, Task& task, bool lasting) {
  Worker* worker = stream.worker();
  if (worker == nullptr) {
    worker = &workerOf(stream.device());
    stream.setWorker(worker);
  }
  takesTurns = latest != &stream ? kTakesTurns : std::max(takesTurns - 1, 0);
  latest = &stream;
  const bool hurries = lasting && stream.noteLong(std::chrono::steady_clock::now());
  if (!task.isBrief())
    stream.takePolled();  // a thread that came for the tasks before may not come for this one
  stream.enqueue(task);
  if (hurries)
    worker->hurry();
  else
    worker->notify();
}

void Scheduler::begin(Stream& stream) noexcept {
  if (stream.enqueued() - stream.finished() != 1 || !stream.tryClaim()) return;
  stream.run();
  stream.release();
}

bool Scheduler::catchUp(Stream& stream) noexcept {
  if (Stream::runsOnThisThread()) return false;
  auto& enqueuer = perThread<Enqueuer>();
  enqueuer.loop.noteCall();
  do {
    if (stream.lasting() || !stream.tryClaim()) return false;
    const bool advanced = stream.catchUp();
    stream.release();
    if (!stream.pending()) return true;
    if (advanced && enqueuer.loop.inLoop() && !stream.lasting()) stream.notePolling();
    // A program that orders two streams by events often waits for one in the other.
  } while (takesTurns > 0 &&
           helpOne(&stream, -1, false, enqueuer.turn, Helper::kCatchingUp) == Helped::kAdvanced);
  return false;
}

// Others' progress does not count: it may never end.
void Scheduler::runDown(Stream& stream, std::uint64_t target) {
  using Clock = std::chrono::steady_clock;
  if (Stream::runsOnThisThread()) return;
  std::uint64_t finished = stream.finished();
  const Clock::time_point start = Clock::now();
  Clock::time_point last = start;  // the stream advanced
  while (finished < target) {
    const bool advanced = pollOnce(&stream) == Polled::kStream;
    const std::uint64_t before = std::exchange(finished, stream.finished());
    const Clock::time_point now = Clock::now();
    if (advanced || finished != before) last = now;
    if (now - last > kIdleLimit || now - start > kLongestRunDown) break;
  }
  stream.takePolled();
}

Scheduler::Helped Scheduler::helpOne(const Stream* own, int device, bool checkStalls, std::size_t& turn,
                                     Helper helper) {
  Stream* chosen = nullptr;
  bool taken = false;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return Helped::kBlocked;  // another thread looks right now
    for (std::size_t i = 0; i < streams_.size() && chosen == nullptr; ++i) {
      Stream* stream = streams_[(turn + i) % streams_.size()];
      if (stream == own || (device >= 0 && stream->device() != device)) continue;
      if (!stream->pending() || (helper == Helper::kCatchingUp && stream->lasting())) continue;
      const bool left = stream->attended() || (helper == Helper::kWorker && stream->takePolled());
      if (left || !stream->tryClaim()) {
        taken = true;
        continue;
      }
      chosen = stream;
      turn = (turn + i + 1) % streams_.size();
    }
  }
  if (chosen == nullptr) return taken ? Helped::kTaken : Helped::kNothing;
  if (helper == Helper::kCatchingUp) {
    const bool advanced = chosen->catchUp();
    chosen->release();
    return advanced ? Helped::kAdvanced : Helped::kBlocked;
  }
  if (helper == Helper::kPolling) chosen->notePolling();
  if (helper == Helper::kWorker)
    chosen->noteLeft();
  else if (helper != Helper::kAsking)
    chosen->noteAwaited();
  const Progress progress = chosen->run();
  if (progress == Progress::kWouldBlock && checkStalls) chosen->checkStall();
  chosen->release();
  return progress == Progress::kWouldBlock ? Helped::kBlocked : Helped::kAdvanced;
}

// Takes the claim of the stream as soon as it is free and then runs the stream until the target is reached.
// While it cannot go on, or another thread has the claim, helps other streams: the awaited task may depend on
// one of them.
void Scheduler::wait(Stream& stream) {
  const std::uint64_t target = stream.enqueued();
  if (stream.finished() >= target) return;
  stream.noteAwaited();
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

bool Scheduler::poll(Stream* stream) { return pollOnce(stream) != Polled::kNothing; }

Scheduler::Polled Scheduler::pollOnce(Stream* stream) {
  // A plugin may ask from inside of a task, which may have locks that other tasks need.
  if (Stream::runsOnThisThread()) return Polled::kNothing;
  auto& poller = perThread<Poller>();
  const auto startAgain = [&] {
    WaitPolicy untilYielding = policy();
    untilYielding.yielding = std::chrono::hours(24);  // the caller decides whether to sleep
    poller.backoff = Backoff(untilYielding);
    poller.triesLeft = kTriesBeforeHelping;
  };
  if (poller.loop.sawNone()) startAgain();
  poller.loop.noteCall();
  const bool stalled = poller.backoff.takeStall();
  Polled advanced = Polled::kNothing;
  if (stream != nullptr && stream->pending()) {
    if (poller.loop.inLoop()) {
      stream->notePolling();
      stream->noteAwaited();
    }
    if (stream->tryClaim()) {
      if (stream->run() != Progress::kWouldBlock)
        advanced = Polled::kStream;
      else if (stalled)
        stream->checkStall();
      stream->release();
    }
  } else {
    poller.triesLeft = 0;
  }
  if (advanced == Polled::kNothing && poller.triesLeft-- <= 0) {
    poller.triesLeft = 0;
    const Helper helper = poller.loop.inLoop() ? Helper::kPolling : Helper::kAsking;
    if (helpOne(stream, -1, stalled, poller.turn, helper) == Helped::kAdvanced) advanced = Polled::kOthers;
  }
  if (advanced != Polled::kNothing)
    startAgain();
  else
    poller.backoff.pause();
  return advanced;
}

void Scheduler::takeTurn(Stream& stream) {
  using Clock = std::chrono::steady_clock;
  const std::uint64_t target = stream.enqueued();
  const Clock::time_point start = Clock::now();
  Clock::time_point last = start;  // something advanced
  while (stream.finished() < target) {
    const bool advanced = poll(&stream);
    const Clock::time_point now = Clock::now();
    if (advanced) last = now;
    if (now - start > kLongestTurn || now - last > kIdleTurn) break;
  }
  if (stream.finished() >= target) return;
  stream.takePolled();  // from now on the worker need not leave it to this thread
  if (Worker* worker = stream.worker()) worker->hurry();
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

WaitPolicy Scheduler::policy() const {
  return chooseWaitPolicy(oversubscribed_.load(std::memory_order_relaxed));
}

namespace {

// A worker without work naps for kMinNap, then for ever longer up to kMaxNap, and sleeps for good after
// kIdleNapsBeforeSleep naps, some 200 ms.
constexpr auto kMinNap = std::chrono::microseconds(500);
constexpr auto kMaxNap = std::chrono::microseconds(4000);
constexpr int kIdleNapsBeforeSleep = 50;

}  // namespace

void Worker::end() {
  {
    const std::lock_guard lock(own_->startMutex);  // no thread starts any more
    state_.store(kStopping, std::memory_order_seq_cst);
  }
  state_.notify_all();
  wakeFromNap();
  if (own_->thread.joinable()) own_->thread.join();
}

// Nothing that the parent's thread may have used can be destroyed: that would wait for it.
void Worker::startAnew() {
  keepForEver(std::move(own_));
  own_ = std::make_unique<Thread>();
  state_ = kNotStarted;
}

void Worker::notify() {
  const int state = state_.load(std::memory_order_seq_cst);
  if (state == kAwake) return;
  if (state == kNotStarted) {
    const std::lock_guard lock(own_->startMutex);
    if (state_.load() != kNotStarted) return;
    state_.store(kAwake);
    try {
      own_->thread = std::thread([this] { loop(); });
    } catch (const std::exception& error) {
      state_.store(kNotStarted);
      throw errorOf(error);
    }
    return;
  }
  int expected = kAsleep;
  if (state_.compare_exchange_strong(expected, kAwake)) state_.notify_all();
}

void Worker::hurry() {
  notify();
  wakeFromNap();
}

void Worker::wakeFromNap() {
  {
    const std::lock_guard lock(own_->napMutex);
    own_->hurried = true;
  }
  own_->napOver.notify_one();
}

void Worker::nap(std::chrono::microseconds longest) {
  std::unique_lock lock(own_->napMutex);
  own_->napOver.wait_for(lock, longest, [this] { return own_->hurried; });
  own_->hurried = false;
}

bool Worker::sleep() {
  int expected = kAwake;
  if (!state_.compare_exchange_strong(expected, kAsleep, std::memory_order_seq_cst)) return false;
  // A thread that enqueued before this point did not see the worker asleep, so look once more. Work that
  // other threads have keeps the worker awake too, as they may leave it unfinished.
  if (scheduler_.helpOne(nullptr, device_, false, turn_, Scheduler::Helper::kWorker) !=
      Scheduler::Helped::kNothing) {
    expected = kAsleep;
    state_.compare_exchange_strong(expected, kAwake);
    return state_.load() != kStopping;
  }
  state_.wait(kAsleep);
  return state_.load() != kStopping;
}

void Worker::loop() {
  Logger::setThreadDevice(device_);
  Backoff backoff(scheduler_.policy());
  std::chrono::microseconds longest = kMinNap;
  const auto napLonger = [&] {
    nap(longest);
    longest = std::min(longest * 2, kMaxNap);
  };
  int idleNaps = 0;
  while (state_.load(std::memory_order_relaxed) != kStopping) {
    switch (scheduler_.helpOne(nullptr, device_, backoff.takeStall(), turn_, Scheduler::Helper::kWorker)) {
      case Scheduler::Helped::kAdvanced:
        backoff.reset();
        longest = kMinNap;
        idleNaps = 0;
        break;
      case Scheduler::Helped::kBlocked:
        backoff.pause();
        longest = kMinNap;
        idleNaps = 0;
        break;
      case Scheduler::Helped::kTaken:
        idleNaps = 0;
        napLonger();
        break;
      case Scheduler::Helped::kNothing:
        if (++idleNaps <= kIdleNapsBeforeSleep) {
          napLonger();
          break;
        }
        if (!sleep()) return;
        idleNaps = 0;
        backoff = Backoff(scheduler_.policy());
        break;
    }
  }
}

}  // namespace xylem::device
