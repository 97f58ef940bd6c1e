#include "runtime/sockets/reception.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "core/error.h"

namespace xylem {
namespace {

// Bounds what one look at the door takes, so that its owner gets to see to those who are in.
constexpr int kMostAtOnce = 64;
// Without descriptors there is no use in looking at the door more often.
constexpr std::chrono::milliseconds kDeafness{100};

constexpr const char* kTooSlow = "it did not say who it is";
constexpr const char* kNoProof = "it did not show that it belongs to this job";
constexpr const char* kTooLate = "this end was through before it had shown that it belongs to this job";
constexpr const char* kTooMany = "too many connections at once that did not say who they are";
constexpr const char* kTooManyProofs = "too many connections at once that did not show who they are";

// Ranks need one round trip for their proof, but their thread may be kept from it meanwhile, by a busy
// machine for instance. They do not notice that nobody waits for it any more: a proof that comes too late
// breaks a connection that its caller believes to have.
constexpr std::chrono::seconds kProofPatience{60};

// In all receptions of this process.
std::atomic<std::size_t> guestsHere{0};
// So many each has room for whatever goes on at the others.
constexpr std::size_t kRoomForFew = 8;

// Strangers may take a quarter of the files that this process may open.
std::size_t mostGuests() {
  static const std::size_t most = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::size_t{4096};
    return std::max<std::size_t>(limit.rlim_cur / 4, 16);
  }();
  return most;
}

}  // namespace

Reception::Reception(int listener, std::function<Arrival()> next, const Secret& secret, const Logger& log,
                     const char* who)
    : listener_(listener),
      next_(std::move(next)),
      secret_(secret),
      who_(who),
      log_(log),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      strangerLog_(log, who) {
  if (!epoll_ || !bell_)
    throw Error(ResultCode::kSystemError, "cannot watch for connections: {}", errnoText(errno));
  watch(EPOLL_CTL_ADD, listener_, EPOLLIN, nullptr);
  watch(EPOLL_CTL_ADD, bell_.get(), EPOLLIN, &bell_);
}

Reception::~Reception() {
  try {
    for (Guests* guests : {&silent_, &heard_})
      while (!guests->empty()) part(guests->front(), kTooLate);
  } catch (const std::exception&) {
    // No memory for the log; what is left goes without a line.
    guestsHere -= silent_.size() + heard_.size();
  }
}

void Reception::watch(int operation, int fd, std::uint32_t events, void* tag) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
    throw Error(ResultCode::kSystemError, "cannot watch a connection: {}", errnoText(errno));
}

std::vector<Accepted> Reception::advance() {
  const std::lock_guard lock(mutex_);
  goOn();
  eventfd_t rings = 0;
  if (rung_) eventfd_read(bell_.get(), &rings);
  rung_ = false;
  return std::exchange(accepted_, {});
}

bool Reception::look() {
  const std::lock_guard lock(mutex_);
  const bool more = goOn();
  if (!accepted_.empty() && !rung_) rung_ = eventfd_write(bell_.get(), 1) == 0;
  return more;
}

void Reception::tellAll(std::function<void(int socket)> say) {
  const std::lock_guard lock(mutex_);
  say_ = std::move(say);
  for (const Accepted& caller : accepted_) say_(caller.socket.get());
}

bool Reception::strangers() const {
  const std::lock_guard lock(mutex_);
  return !silent_.empty() || !heard_.empty();
}

void Reception::drop(const Accepted& caller, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  strangerLog_.dropped(caller.from, reason);
}

// True if there may be more to do at once.
bool Reception::goOn() {
  if (deaf_ && deaf_->passed()) {
    deaf_.reset();
    watch(EPOLL_CTL_MOD, listener_, EPOLLIN, nullptr);
  }
  std::array<epoll_event, kMostAtOnce> events;
  const int ready = epoll_wait(epoll_.get(), events.data(), kMostAtOnce, 0);
  bool knocked = false;
  for (int i = 0; i < ready; ++i) {
    void* const tag = events[static_cast<std::size_t>(i)].data.ptr;
    if (tag == nullptr)
      knocked = true;
    else if (tag != &bell_)
      hear(*static_cast<Guest*>(tag));
  }
  // Guests leave here only now, as there may have been several events for them.
  const bool more = (knocked && letIn()) || ready == kMostAtOnce;
  partWithLate(silent_, kTooSlow);
  partWithLate(heard_, kNoProof);
  partWithTooMany(silent_, kTooMany);
  partWithTooMany(heard_, kTooManyProofs);
  return more;
}

bool Reception::letIn() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    Arrival arrival = next_();
    switch (arrival.kind) {
      case Arrival::Kind::kNobody:
        return false;
      case Arrival::Kind::kRefused:
        strangerLog_.dropped(arrival.from, arrival.reason);
        break;
      case Arrival::Kind::kCaller:
        welcome(std::move(arrival));
        break;
      case Arrival::Kind::kNoDescriptors:
        if (partWithOldest()) break;
        outOfDescriptors();
        return false;
    }
  }
  return true;
}

void Reception::welcome(Arrival arrival) {
  const int fd = arrival.socket.get();
  silent_.push_back({std::move(arrival.socket), std::move(arrival.from), Handshake::answer(fd, secret_),
                     Deadline::after(kPatience)});
  ++guestsHere;
  silent_.back().self = std::prev(silent_.end());
  hear(silent_.back());
}

// Moves a guest's handshake on; then the guest may be gone.
void Reception::hear(Guest& guest) {
  Handshake& handshake = guest.handshake;
  switch (handshake.advance()) {
    case Handshake::State::kDone:
      if (guest.events != 0) watch(EPOLL_CTL_DEL, guest.socket.get(), 0, nullptr);
      accepted_.push_back({std::move(guest.socket), handshake.hello(), std::move(guest.from)});
      if (say_) say_(accepted_.back().socket.get());
      --guestsHere;
      (guest.heard ? heard_ : silent_).erase(guest.self);
      return;
    case Handshake::State::kFailed:
      return part(guest, handshake.reason());
    case Handshake::State::kUnderWay:
      break;
  }
  if (const short wanted = handshake.events(); wanted != guest.events) {
    watch(guest.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, guest.socket.get(),
          wanted == POLLOUT ? EPOLLOUT : EPOLLIN, &guest);
    guest.events = wanted;
  }
  if (guest.heard || !handshake.hasHello()) return;
  guest.heard = true;
  guest.deadline = Deadline::after(kProofPatience);
  heard_.splice(heard_.end(), silent_, guest.self);
}

void Reception::part(Guest& guest, std::string_view reason) {
  strangerLog_.dropped(guest.from, reason);
  // Closing would not do where a child of this process still has the descriptor.
  if (guest.events != 0) watch(EPOLL_CTL_DEL, guest.socket.get(), 0, nullptr);
  --guestsHere;
  (guest.heard ? heard_ : silent_).erase(guest.self);
}

// What somebody has said in the last moment counts.
void Reception::partUnlessProven(Guests& guests, std::string_view reason) {
  Guest& oldest = guests.front();
  const std::size_t before = guests.size();
  hear(oldest);
  if (guests.size() == before) part(oldest, reason);
}

void Reception::partWithLate(Guests& guests, std::string_view reason) {
  while (!guests.empty() && guests.front().deadline.passed()) partUnlessProven(guests, reason);
}

void Reception::partWithTooMany(Guests& guests, std::string_view reason) {
  while (guests.size() > kMostOfAKind || (guests.size() > kRoomForFew && guestsHere.load() > mostGuests()))
    partUnlessProven(guests, reason);
}

bool Reception::partWithOldest() {
  Guests& guests = silent_.empty() ? heard_ : silent_;
  if (guests.empty()) return false;
  part(guests.front(), silent_.empty() ? kTooManyProofs : kTooMany);
  return true;
}

void Reception::outOfDescriptors() {
  watch(EPOLL_CTL_MOD, listener_, 0, nullptr);
  deaf_ = Deadline::after(kDeafness);
  if (!std::exchange(warned_, true))
    log_.warn("{} : cannot accept a connection: too many files are open (raise the limit: ulimit -n)", who_);
}

}  // namespace xylem
