#include "runtime/device/stream.h"

#include <exception>
#include <memory>

#include "core/keep_for_ever.h"
#include "core/per_thread.h"

namespace xylem::device {
namespace {

using Clock = std::chrono::steady_clock;

// A program that comes within this time waits for its operations; one that comes later has computed meanwhile.
constexpr std::chrono::microseconds kSoon{50};

// How many calls of run() this thread is inside of.
XYLEM_THREAD_LOCAL int runs = 0;

struct Running {
  Running() { ++runs; }
  ~Running() { --runs; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

}  // namespace

bool Stream::runsOnThisThread() noexcept { return runs > 0; }

void Stream::enqueue(Task& task) noexcept {
  // Counted before it is visible, so that no thread sees more tasks finished than enqueued.
  enqueued_.fetch_add(1, std::memory_order_seq_cst);
  Task* newest = incoming_.load(std::memory_order_relaxed);
  do {
    task.next_ = newest;
  } while (
      !incoming_.compare_exchange_weak(newest, &task, std::memory_order_seq_cst, std::memory_order_relaxed));
}

bool Stream::noteLong(std::chrono::steady_clock::time_point now) noexcept {
  const std::int64_t time = now.time_since_epoch().count();
  std::int64_t since = 0;
  const bool first = longSince_.compare_exchange_strong(since, time, std::memory_order_relaxed);
  const bool late = !first && Clock::duration(time - since) >= kSoon;
  return late || !awaitedSoon_.load(std::memory_order_relaxed);
}

void Stream::learnAwaited() noexcept {
  const std::int64_t since = longSince_.exchange(0, std::memory_order_relaxed);
  if (since == 0) return;  // another thread was faster
  const bool soon = Clock::now().time_since_epoch() - Clock::duration(since) < kSoon;
  awaitedSoon_.store(soon, std::memory_order_relaxed);
}

// Moves the enqueued tasks, which form a list with the newest first, to the empty list `front_`, the oldest
// first.
void Stream::fetch() noexcept {
  if (incoming_.load(std::memory_order_relaxed) == nullptr) return;
  Task* newest = incoming_.exchange(nullptr, std::memory_order_acquire);
  while (newest != nullptr) {
    Task* older = newest->next_;
    newest->next_ = front_;
    front_ = newest;
    newest = older;
  }
}

void Stream::finishFront(const Error* error) noexcept {
  if (error != nullptr) {
    const std::lock_guard lock(errorMutex_);
    if (!error_) error_ = *error;
    failed_.store(true, std::memory_order_release);
  }
  Task* done = front_;
  front_ = done->next_;
  done->finish(error);  // `done` belongs to its owner from here on
  // No other thread writes it.
  finished_.store(finished_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Stream::noteFront() noexcept {
  const bool lasting = front_ != nullptr && !front_->isBrief();
  if (lasting != lasting_.load(std::memory_order_relaxed)) lasting_.store(lasting, std::memory_order_relaxed);
}

bool Stream::catchUp() noexcept {
  const std::uint64_t before = finished();
  bool advanced = false;
  while (run(Which::kBrief) == Progress::kAdvanced) advanced = true;
  return advanced || finished() != before;
}

Progress Stream::run(Which which) noexcept {
  const Running running;
  Progress outcome = Progress::kWouldBlock;
  for (;;) {
    if (front_ == nullptr) fetch();
    noteFront();
    if (front_ == nullptr) return Progress::kDone;
    Task* const task = front_;
    if (which == Which::kBrief && lasting()) return outcome;
    try {
      const Progress progress = task->step();
      if (front_ != task)
        return Progress::kDone;  // it has forked: this is the child, where the stream is empty
      switch (progress) {
        case Progress::kDone:
          finishFront(nullptr);
          outcome = Progress::kAdvanced;
          break;
        case Progress::kAdvanced:
          return Progress::kAdvanced;
        case Progress::kWouldBlock:
          return outcome;
      }
    } catch (const std::exception& error) {
      if (front_ != task) return Progress::kDone;
      const Error wrapped = errorOf(error);
      finishFront(&wrapped);
      outcome = Progress::kAdvanced;
    }
  }
}

void Stream::checkStall() noexcept {
  if (front_ == nullptr) return;
  try {
    front_->checkStall();
  } catch (const std::exception& error) {
    const Error wrapped = errorOf(error);
    finishFront(&wrapped);
  }
}

// A thread of the parent may have been anywhere in it, so all is written anew and nothing is destroyed.
void Stream::startAnew() {
  struct Left {
    Task* front;
    Task* incoming;
  };
  keepForEver(std::make_unique<Left>(Left{front_, incoming_.load()}));
  const int device = device_;
  const std::uint64_t enqueued = this->enqueued();
  std::construct_at(this, device);
  enqueued_ = enqueued;  // a thread may wait for this number
  finished_ = enqueued;
}

std::optional<Error> Stream::error() const {
  if (!failed()) return std::nullopt;
  const std::lock_guard lock(errorMutex_);
  if (!error_) return std::nullopt;
  return Error(error_->code(), "{}", error_->what());  // a copy whose text no other thread shares
}

std::optional<Error> Stream::takeError() {
  if (!failed()) return std::nullopt;
  const std::lock_guard lock(errorMutex_);
  failed_.store(false, std::memory_order_relaxed);
  return std::exchange(error_, std::nullopt);
}

}  // namespace xylem::device
