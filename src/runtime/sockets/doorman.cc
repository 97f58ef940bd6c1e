#include "runtime/sockets/doorman.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"

namespace xylem {
namespace {

using Clock = std::chrono::steady_clock;

// Owners who wait for a caller see to him in less.
constexpr std::chrono::milliseconds kMoment{20};
// A turn takes so long at most, and is followed by a rest of so many times what it took: 5 % of one core.
constexpr std::chrono::milliseconds kTurn{5};
constexpr int kRests = 19;
constexpr std::chrono::milliseconds kLongestRest{500};

}  // namespace

std::shared_ptr<Doorman> Doorman::ofThisProcess() {
  static std::mutex mutex;
  static std::weak_ptr<Doorman> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Doorman> doorman = current.lock();
  // A child of fork has its parent's memory, but not its threads.
  if (!doorman || doorman->process_ != getpid()) current = doorman = std::make_shared<Doorman>();
  return doorman;
}

Doorman::Doorman()
    : process_(getpid()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (!stop_ || !epoll_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event) != 0)
    throw Error(ResultCode::kSystemError, "cannot watch listening sockets: {}", errnoText(errno));
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "xylem-doorman");
}

Doorman::~Doorman() {
  if (process_ != getpid()) {
    thread_.detach();
    return;
  }
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

std::uint64_t Doorman::watch(Reception& reception) {
  const std::lock_guard lock(mutex_);
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, reception.listener(), &event) != 0)
    throw Error(ResultCode::kSystemError, "cannot watch a listening socket: {}", errnoText(errno));
  receptions_[++numbers_] = &reception;
  return numbers_;
}

void Doorman::leave(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = receptions_.find(number);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->listener(), nullptr);
  receptions_.erase(found);
}

bool Doorman::stopsWithin(std::chrono::milliseconds time) const {
  pollfd stop{stop_.get(), POLLIN, 0};
  return poll(&stop, 1, static_cast<int>(time.count())) > 0;
}

// From where the last turn ended, until all have been looked at in vain. Whether somebody has to be looked
// after even if nobody else knocks.
bool Doorman::look(Clock::duration atMost) {
  const Clock::time_point start = Clock::now();
  bool strangers = false;
  for (std::size_t inVain = 0;;) {
    const std::lock_guard lock(mutex_);
    if (inVain >= receptions_.size()) return strangers;
    auto next = receptions_.upper_bound(last_);
    if (next == receptions_.end()) next = receptions_.begin();
    last_ = next->first;
    inVain = next->second->look() ? 0 : inVain + 1;
    strangers |= next->second->strangers();
    if (Clock::now() - start > atMost) return true;
  }
}

void Doorman::serve() {
  bool strangers = false;
  for (;;) {
    epoll_event event{};
    epoll_wait(epoll_.get(), &event, 1, strangers ? static_cast<int>(kMoment.count()) : -1);
    if (stopsWithin(kMoment)) return;
    const Clock::time_point start = Clock::now();
    try {
      strangers = look(kTurn);
    } catch (const Error&) {
      // The owner gets to see it when he looks himself.
      strangers = true;
    }
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(kRests * (Clock::now() - start));
    if (stopsWithin(std::min(rest, kLongestRest))) return;
  }
}

}  // namespace xylem
