#include "runtime/sockets/accept_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"

namespace xylem::sockets {
namespace {

using Clock = std::chrono::steady_clock;

// An owner that waits for a connection takes it within this time; only then does the thread step in.
constexpr std::chrono::milliseconds kOwnersTime{20};
// The thread works for at most kTurn, then rests kRestFactor times as long as it worked: 5 % of one core.
constexpr std::chrono::milliseconds kTurn{5};
constexpr int kRestFactor = 19;
constexpr std::chrono::milliseconds kMaxRest{500};

}  // namespace

std::shared_ptr<AcceptThread> AcceptThread::ofThisProcess() {
  static std::mutex mutex;
  static std::weak_ptr<AcceptThread> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<AcceptThread> thread = current.lock();
  // A child of fork has its parent's memory, but not its threads.
  if (!thread || thread->process_ != getpid()) current = thread = std::make_shared<AcceptThread>();
  return thread;
}

AcceptThread::AcceptThread()
    : process_(getpid()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (!stop_ || !epoll_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event) != 0)
    throw Error(ResultCode::kSystemError, "cannot watch listening sockets: {}", errnoText(errno));
  thread_ = std::make_unique<std::thread>([this] { serve(); });
  pthread_setname_np(thread_->native_handle(), "xylem-accept");
}

// A forked child must not even detach its parent's thread, as one of its own may have the same handle.
AcceptThread::~AcceptThread() {
  if (process_ != getpid()) {
    static_cast<void>(thread_.release());
    return;
  }
  eventfd_write(stop_.get(), 1);
  thread_->join();
}

std::uint64_t AcceptThread::add(PendingConnections& connections) {
  const std::lock_guard lock(mutex_);
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connections.listener(), &event) != 0)
    throw Error(ResultCode::kSystemError, "cannot watch a listening socket: {}", errnoText(errno));
  owners_[++numbers_] = &connections;
  return numbers_;
}

void AcceptThread::remove(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(number);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->listener(), nullptr);
  owners_.erase(found);
}

bool AcceptThread::stopsWithin(std::chrono::milliseconds time) const {
  pollfd stop{stop_.get(), POLLIN, 0};
  return poll(&stop, 1, static_cast<int>(time.count())) > 0;
}

// Serves the owners in turn, starting after the one served last, until none of them has anything left to do
// or the time is up. Returns true if it has to run again even without a new connection attempt: handshakes
// that are under way have deadlines.
bool AcceptThread::advanceAll(Clock::duration atMost) {
  const Clock::time_point start = Clock::now();
  bool unfinished = false;
  for (std::size_t idle = 0;;) {
    const std::lock_guard lock(mutex_);
    if (idle >= owners_.size()) return unfinished;
    auto next = owners_.upper_bound(last_);
    if (next == owners_.end()) next = owners_.begin();
    last_ = next->first;
    idle = next->second->advanceInBackground() ? 0 : idle + 1;
    unfinished |= next->second->hasUnauthenticated();
    if (Clock::now() - start > atMost) return true;
  }
}

void AcceptThread::serve() {
  bool unfinished = false;
  for (;;) {
    epoll_event event{};
    epoll_wait(epoll_.get(), &event, 1, unfinished ? static_cast<int>(kOwnersTime.count()) : -1);
    if (stopsWithin(kOwnersTime)) return;
    const Clock::time_point start = Clock::now();
    try {
      unfinished = advanceAll(kTurn);
    } catch (const Error&) {
      // The owner gets the same error when it polls its connections itself.
      unfinished = true;
    }
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(kRestFactor * (Clock::now() - start));
    if (stopsWithin(std::min(rest, kMaxRest))) return;
  }
}

}  // namespace xylem::sockets
