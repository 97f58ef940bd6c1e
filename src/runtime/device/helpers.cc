#include "runtime/device/helpers.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <utility>

#include "core/per_process.h"
#include "runtime/device/numa_cores.h"
#include "runtime/device/waiting.h"

namespace xylem::device {
namespace {

constexpr std::chrono::microseconds kIdleTime{50};
constexpr unsigned kPausesPerClockRead = 32;

// A ticket: 32 bits for the number of the work, 16 for its parts, 16 for the next one.
constexpr std::size_t kMostParts = 0xffff;
constexpr std::uint64_t ticketOf(std::uint64_t number, std::size_t parts) {
  return number << 32 | parts << 16;
}
constexpr std::uint64_t numberOf(std::uint64_t ticket) { return ticket >> 32; }
constexpr std::size_t partsOf(std::uint64_t ticket) { return ticket >> 16 & 0xffff; }
constexpr std::size_t nextOf(std::uint64_t ticket) { return ticket & 0xffff; }

// If the system refuses, because the process has other cores by now, the thread stays where it is.
void keepOn(const CoreSet& cores, pthread_t thread) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (std::size_t core = 0; core < cores.size() && core < CPU_SETSIZE; ++core)
    if (cores[core]) CPU_SET(core, &wanted);
  pthread_setaffinity_np(thread, sizeof wanted, &wanted);
}

}  // namespace

std::shared_ptr<Helpers> Helpers::of(int device, int threads) {
  struct Known {
    std::mutex mutex;
    std::map<int, std::weak_ptr<Helpers>> devices;
  };
  static constinit PerProcess<Known> all;  // communicators may be destroyed while the program ends
  Known& known = all.get();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<Helpers>& ofDevice = known.devices[device];
  std::shared_ptr<Helpers> helpers = ofDevice.lock();
  if (helpers == nullptr) ofDevice = helpers = std::make_shared<Helpers>(threads);
  return helpers;
}

Helpers::Helpers(int threads)
    : wanted_(threads), allowed_(coreSet()), nodes_(numaNodes()), process_(getpid()) {}

// In a forked child the threads do not exist.
Helpers::~Helpers() {
  if (process_ != getpid()) return;
  stopping_.store(true, std::memory_order_seq_cst);
  wake();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

void Helpers::run(std::size_t parts, const Work& work) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || parts < 2 || parts > kMostParts || process_ != getpid()) {
    for (std::size_t i = 0; i < parts; ++i) work.call(work.context, i);
    return;
  }
  start();
  work_ = work;
  done_.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  ticket_.store(ticketOf(numberOf(ticket_.load(std::memory_order_relaxed)) + 1, parts),
                std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) > 0) wake();
  while (const auto index = take()) perform(*index);
  Backoff backoff(chooseWaitPolicy(false));
  while (done_.load(std::memory_order_acquire) < parts) backoff.pause();
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// The system may refuse a thread: the others do the work all the same.
void Helpers::start() {
  const auto wanted = static_cast<std::size_t>(wanted_);
  if (refused_ || threads_.size() == wanted) return;
  const auto begin = [](void* self) -> void* {
    static_cast<Helpers*>(self)->loop();
    return nullptr;
  };
  const CoreSet callers = coreSet();
  const CoreSet cores = coresNear(allowed_, nodes_, callers, wanted_ + 1);
  threads_.reserve(wanted);
  while (threads_.size() < wanted) {
    pthread_t thread;
    refused_ = pthread_create(&thread, nullptr, begin, this) != 0;
    if (refused_) return;
    threads_.push_back(thread);
    pthread_setname_np(thread, "xylem helper");
    if (cores != callers) keepOn(cores, thread);
  }
}

bool Helpers::hasWork() const {
  const std::uint64_t ticket = ticket_.load(std::memory_order_seq_cst);
  return nextOf(ticket) < partsOf(ticket);
}

// The next part, which no other thread has then. The work stays the same until that part is done.
std::optional<std::size_t> Helpers::take() {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (nextOf(ticket) < partsOf(ticket))
    if (ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      return nextOf(ticket);
  return std::nullopt;
}

void Helpers::perform(std::size_t index) {
  try {
    work_.call(work_.context, index);
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
  }
  done_.fetch_add(1, std::memory_order_release);
}

void Helpers::wake() {
  wakes_.fetch_add(1, std::memory_order_seq_cst);
  wakes_.notify_all();
}

void Helpers::loop() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();  // there was work
  for (unsigned pauses = 0; !stopping_.load(std::memory_order_seq_cst);) {
    if (const auto index = take()) {
      perform(*index);
      pauses = 0;
      last = Clock::now();
      continue;
    }
    pauseProcessor();
    if (++pauses % kPausesPerClockRead != 0 || Clock::now() - last < kIdleTime) continue;
    // A thread that brings work after this line sees that one sleeps.
    asleep_.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = wakes_.load(std::memory_order_seq_cst);
    if (!hasWork() && !stopping_.load(std::memory_order_seq_cst))
      wakes_.wait(seen, std::memory_order_seq_cst);
    asleep_.fetch_sub(1, std::memory_order_seq_cst);
    last = Clock::now();
  }
}

}  // namespace xylem::device
