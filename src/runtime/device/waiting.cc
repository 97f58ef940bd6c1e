#include "runtime/device/waiting.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace xylem::device {
namespace {

constexpr std::uint32_t kYieldsPerClockRead = 16;

}  // namespace

void pauseProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

WaitPolicy chooseWaitPolicy(bool oversubscribed) {
  // A few microseconds. Longer spins gain nothing over yields, which cost a fraction of a microsecond if no
  // other thread wants the core, and lose much if one does.
  if (!oversubscribed) return {.spins = 64};
  // A check is some system calls: if hundreds of ranks waited and each checked every millisecond, that would be all that two cores do.
  return {.spins = 0, .stallInterval = std::chrono::milliseconds(20)};
}

void Backoff::pause() {
  if (count_ < static_cast<std::uint32_t>(policy_.spins)) {
    ++count_;
    pauseProcessor();
  } else if (!sleeping_) {
    if (++count_ % kYieldsPerClockRead == 0) watchClock();
    sched_yield();
  } else {
    watchClock();
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, policy_.longestSleep);
  }
}

void Backoff::watchClock() {
  const auto now = Clock::now();
  if (!watching_) {
    watching_ = true;
    lastYield_ = now + policy_.yielding;
    nextStall_ = now + policy_.stallInterval;
    return;
  }
  sleeping_ = now >= lastYield_;
  if (now >= nextStall_) {
    stallDue_ = true;
    nextStall_ = now + policy_.stallInterval;
  }
}

}  // namespace xylem::device
