#include "runtime/bootstrap/root.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace xylem {
namespace {

constexpr int kRootsLastWordsMilliseconds = 1000;
// Up to so many ranks the root tells each where all others listen, and not only the next: a frame of some
// tens of kilobytes.
constexpr std::size_t kMostTold = 1024;
// A root whose ranks are all there leaves it to the others, for so long, to say who is missing.
constexpr std::chrono::milliseconds kModesty{1000};

// Programs may end communicators after the roots are gone, while they end themselves.
constinit std::atomic<bool> rootsGone{false};

// The roots of this process.
class Roots {
 public:
  ~Roots() { rootsGone.store(true, std::memory_order_release); }
  void keep(std::unique_ptr<Root> root) {
    const std::lock_guard lock(mutex_);
    roots_.push_back(std::move(root));
  }
  void forgetEnded() {
    const std::lock_guard lock(mutex_);
    std::erase_if(roots_, [](const auto& r) { return r->ended(); });
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Root>> roots_;
};

Roots& allRoots() {
  static Roots roots;
  return roots;
}

}  // namespace

void keepRoot(std::unique_ptr<Root> root) {
  forgetEndedRoots();
  allRoots().keep(std::move(root));
}

void forgetEndedRoots() {
  if (!rootsGone.load(std::memory_order_acquire)) allRoots().forgetEnded();
}

Root::Root(const SocketAddress& address, const Secret& secret, std::chrono::seconds timeout,
           std::shared_ptr<const Logger> log)
    : log_(std::move(log)),
      timeout_(timeout),
      acceptor_(std::in_place, address, secret, *log_),
      address_(acceptor_->address()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_)
    throw Error(ResultCode::kSystemError, "cannot create an event descriptor: {}", errnoText(errno));
}

Root::~Root() {
  {
    const std::lock_guard lock(stopMutex_);
    if (stop_) eventfd_write(stop_.get(), 1);
  }
  if (thread_.joinable()) thread_.join();
}

void Root::start() {
  thread_ = std::thread([this] {
    try {
      serve();
    } catch (const std::exception& error) {
      giveUp(ResultCode::kInternalError, fmt::format("the root failed: {}", error.what()));
    }
    members_.clear();
    acceptor_.reset();
    {
      const std::lock_guard lock(stopMutex_);
      stop_.reset();
    }
    ended_.store(true, std::memory_order_release);
  });
}

void Root::setDeadline(std::chrono::milliseconds extra) {
  const auto now = Deadline::Clock::now();
  if (!started_) started_ = now;
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - *started_);
  deadline_ = Deadline::after(timeout_ + extra - passed);
}

bool Root::complete() const {
  const auto own = members_.begin() + static_cast<std::ptrdiff_t>(roster_.ownSeats());
  return introduced_ && std::all_of(members_.begin(), own, [](const auto& m) { return m->ready; });
}

void Root::serve() {
  while (!done_) {
    waitForSomething();
    eventfd_t value = 0;
    if (eventfd_read(stop_.get(), &value) == 0) return;
    if (!members_.empty()) listenToMembers();
    if (done_) break;
    for (Accepted& accepted : acceptor_->advance()) checkIn(std::move(accepted));
    if (done_ || members_.empty()) continue;
    if (!introduced_ && present_ == members_.size()) introduce();
    if (complete()) {
      for (auto& member : members_) member->stream.queue(FrameKind::kGo);
      for (auto& member : members_) member->stream.flushWithin(kRootsLastWordsMilliseconds);
      done_ = true;
    } else if (deadline_->passed()) {
      giveUp(ResultCode::kRemoteError,
             fmt::format("timed out after {} s waiting for ranks {} (of {} ranks)", timeout_.count(),
                         rankList(missing()), roster_.blocks().ranks));
    }
  }
}

void Root::waitForSomething() {
  fds_.assign({{stop_.get(), POLLIN, 0}});
  acceptor_->addTo(fds_);
  // Without a rank there is nothing to be late for; strangers that keep silent are looked at every second.
  const int milliseconds = deadline_                            ? deadline_->pollMilliseconds()
                           : acceptor_->reception().strangers() ? 1000
                                                                : -1;
  speakers_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i] || !members_[i]->stream.open()) continue;
    speakers_.push_back(i);
    fds_.push_back({members_[i]->stream.fd(), POLLIN, 0});
  }
  poll(fds_.data(), fds_.size(), milliseconds);
}

std::optional<Root::Member>& Root::place(const Hello& hello) {
  const std::size_t seat = roster_.seatOf(hello);
  if (members_.empty()) {
    members_.resize(roster_.seats());
    setDeadline(std::chrono::milliseconds(0));
  }
  return members_[seat];
}

void Root::checkIn(Accepted accepted) {
  if (done_) return;
  const Hello& hello = accepted.hello;
  FrameStream stream(std::move(accepted.socket));
  try {
    auto& member = place(hello);
    if (member) throw Error(ResultCode::kInvalidUsage, "two processes say they are rank {}", hello.rank);
    member.emplace();
    member->stream = std::move(stream);
    member->address = hello.address;
    ++present_;
  } catch (const Error& error) {
    stream.queueError(error.code(), error.what());
    stream.flushWithin(kRootsLastWordsMilliseconds);
    stream.endWriting();
    giveUp(error.code(), error.what());
    stream.awaitClose(Deadline::after(std::chrono::milliseconds(kRootsLastWordsMilliseconds)));
  }
}

void Root::listenToMembers() {
  const std::size_t own = roster_.ownSeats();
  const std::size_t before = fds_.size() - speakers_.size();
  for (std::size_t s = 0; s < speakers_.size() && !done_; ++s) {
    if (fds_[before + s].revents == 0) continue;
    const std::size_t index = speakers_[s];
    Member& member = *members_[index];
    Frame frame;
    switch (member.stream.read(frame, 0)) {
      case FrameStream::Read::kNothing:
        break;
      case FrameStream::Read::kClosed:
        if (index < own || !introduced_)
          giveUp(ResultCode::kRemoteError,
                 fmt::format("rank {} ended while the ranks were connecting", roster_.rankAt(index)));
        else
          member.stream.close();
        break;
      case FrameStream::Read::kFrame:
        if (frame.header.kind == FrameKind::kReady)
          member.ready = true;
        else
          giveUp(ResultCode::kRemoteError, frame.text());
        break;
    }
  }
}

void Root::introduce() {
  const std::size_t own = roster_.ownSeats();
  std::vector<WireAddress> addresses;
  for (const int round : {0, 1})
    for (std::size_t i = 0; i < members_.size() && (round == 0 || i < own); ++i)
      addresses.push_back(members_[i]->address);
  const std::size_t told = roster_.blocks().roots == 1 && own <= kMostTold ? own : 1;
  for (std::size_t i = 0; i < own; ++i)
    members_[i]->stream.queue(FrameKind::kNext, std::as_bytes(std::span(addresses).subspan(i + 1, told)));
  for (auto& member : members_) member->stream.flushWithin(kRootsLastWordsMilliseconds);
  introduced_ = true;
  if (roster_.blocks().roots > 1) setDeadline(kModesty);
}

std::vector<int> Root::missing() const {
  const std::size_t own = roster_.ownSeats();
  std::vector<int> ranks;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (!members_[i] || (introduced_ && i < own && !members_[i]->ready)) ranks.push_back(roster_.rankAt(i));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void Root::giveUp(ResultCode code, const std::string& text) {
  log_->warn("Bootstrap : {}", text);
  done_ = true;
  for (auto& member : members_)
    if (member) member->stream.queueError(code, text);
  for (auto& member : members_) {
    if (!member) continue;
    member->stream.flushWithin(kRootsLastWordsMilliseconds);
    member->stream.endWriting();
  }
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(kRootsLastWordsMilliseconds));
  for (auto& member : members_)
    if (member) member->stream.awaitClose(deadline);
}

}  // namespace xylem
