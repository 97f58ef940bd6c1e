#include "runtime/transport/net/proxy.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/error.h"

namespace xylem::transport {
namespace {

// Longer than the time between two calls of a user that waits for a queue.
constexpr std::chrono::microseconds kAttended{200};
constexpr int kProxyPollMilliseconds = 1;

}  // namespace

Proxy::Proxy() : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_) throw Error(ResultCode::kSystemError, "cannot make an eventfd: {}", errnoText(errno));
}

Proxy::~Proxy() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  ring();
  thread_.join();
}

void Proxy::add(DrivenPump& pump) {
  {
    const std::lock_guard lock(mutex_);
    pumps_.push_back({&pump, pump.attention(), {}});
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { run(); });
      pthread_setname_np(thread_.native_handle(), "xylem-proxy");
    }
  }
  ring();
}

void Proxy::remove(DrivenPump& pump) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(pumps_, [&](const Entry& entry) { return entry.pump == &pump; });
  // The thread may be sleeping on sockets that are about to be closed.
  ring();
}

void Proxy::ring() noexcept {
  const std::uint64_t one = 1;
  if (write(bell_.get(), &one, sizeof one) < 0) return;  // already signalled
}

void Proxy::silence() noexcept {
  std::uint64_t count;
  if (read(bell_.get(), &count, sizeof count) < 0) return;  // not signalled
}

void Proxy::run() {
  std::vector<pollfd> fds;
  while (!stop_.load(std::memory_order_acquire)) {
    fds.assign(1, {bell_.get(), POLLIN, 0});
    const Next next = pass(fds);
    turn(next == Next::kAgain ? EngineState::kActive : EngineState::kIdle);
    if (next == Next::kAgain) continue;
    if (next == Next::kSleep) {
      turn(EngineState::kAsleep);
      // The thread stores asleep_, then loads attention(); a user increments attention(), then loads
      // asleep_. All are sequentially consistent, so either the thread sees the user's call or the user
      // rings the bell.
      asleep_.store(true, std::memory_order_seq_cst);
    }
    if (next == Next::kPollAgain || !disturbed())
      poll(fds.data(), fds.size(), next == Next::kPollAgain ? kProxyPollMilliseconds : -1);
    asleep_.store(false, std::memory_order_relaxed);
    if (next == Next::kSleep) turn(EngineState::kAwake);
    silence();
  }
}

void Proxy::turn(EngineState state) noexcept {
  if (state == std::exchange(state_, state)) return;
  const std::lock_guard lock(observing_);
  if (observer_ != nullptr) observer_->turned(state);
}

// Drives all pumps that no user pumps at the moment. Returns how soon the next pass must follow: the most
// urgent demand of any pump. A pump in use demands kPollAgain, as its user may stop at any time.
Proxy::Next Proxy::pass(std::vector<pollfd>& fds) {
  const Clock::time_point now = Clock::now();
  Next next = Next::kSleep;
  const std::lock_guard lock(mutex_);
  for (Entry& entry : pumps_) {
    if (const std::uint64_t attention = entry.pump->attention(); attention != entry.seen) {
      entry.seen = attention;
      entry.leaveAloneUntil = now + kAttended;
    }
    if (now < entry.leaveAloneUntil) {
      next = std::min(next, Next::kPollAgain);
      continue;
    }
    const DrivenPump::Drive drive = entry.pump->drive(fds);
    const Next wanted = drive == DrivenPump::Drive::kMoved       ? Next::kAgain
                        : drive == DrivenPump::Drive::kPollAgain ? Next::kPollAgain
                                                                 : Next::kSleep;
    next = std::min(next, wanted);
  }
  return next;
}

// Returns whether a user has pumped since the last pass.
bool Proxy::disturbed() {
  const std::lock_guard lock(mutex_);
  return std::any_of(pumps_.begin(), pumps_.end(),
                     [](const Entry& entry) { return entry.pump->attention() != entry.seen; });
}

}  // namespace xylem::transport
