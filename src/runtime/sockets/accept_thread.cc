#include "runtime/sockets/accept_thread.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

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

FileDescriptor makeEpoll() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) throw Error(ResultCode::kSystemError, "cannot watch listening sockets: {}", errnoText(errno));
  return epoll;
}

bool isReadable(int fd, std::chrono::milliseconds within) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, static_cast<int>(within.count())) > 0;
}

}  // namespace

AcceptThread::AcceptThread()
    : epoll_(makeEpoll()), thread_("xylem-accept", [this](int stop) { serve(stop); }) {}

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
  if (!thread_.isOurs()) return;  // the parent still watches its sockets with the same epoll
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(number);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->listener(), nullptr);
  owners_.erase(found);
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

void AcceptThread::serve(int stop) {
  bool unfinished = false;
  for (;;) {
    pollfd fds[] = {{stop, POLLIN, 0}, {epoll_.get(), POLLIN, 0}};
    poll(fds, std::size(fds), unfinished ? static_cast<int>(kOwnersTime.count()) : -1);
    if (isReadable(stop, kOwnersTime)) return;
    const Clock::time_point start = Clock::now();
    try {
      unfinished = advanceAll(kTurn);
    } catch (const Error&) {
      // The owner gets the same error when it polls its connections itself.
      unfinished = true;
    }
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(kRestFactor * (Clock::now() - start));
    if (isReadable(stop, std::min(rest, kMaxRest))) return;
  }
}

}  // namespace xylem::sockets
