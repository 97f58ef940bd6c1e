#include "bootstrap/root.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace xylem {
namespace {

constexpr std::size_t kMostListed = 32;
// A communicator larger than this is a mistake; bounds what one rank's claim can make the root allocate.
constexpr int kMostRanks = 1 << 20;
constexpr int kLastWordsMilliseconds = 1000;

// The roots of this process.
class Roots {
 public:
  void keep(std::unique_ptr<Root> root) {
    const std::lock_guard lock(mutex_);
    std::erase_if(roots_, [](const auto& r) { return r->ended(); });
    roots_.push_back(std::move(root));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Root>> roots_;
};

}  // namespace

std::string rankList(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostListed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kMostListed) text += fmt::format(" and {} more", ranks.size() - kMostListed);
  return text;
}

void keepRoot(std::unique_ptr<Root> root) {
  static Roots roots;
  roots.keep(std::move(root));
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
  eventfd_write(stop_.get(), 1);
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
    ended_.store(true, std::memory_order_release);
  });
}

void Root::serve() {
  while (!done_) {
    waitForSomething();
    eventfd_t value = 0;
    if (eventfd_read(stop_.get(), &value) == 0) return;
    for (Accepted& accepted : acceptor_->advance()) checkIn(std::move(accepted));
    if (!done_) listenToMembers();
    if (done_ || members_.empty()) continue;
    if (!introduced_ && present_ == members_.size()) introduce();
    if (introduced_ &&
        std::all_of(members_.begin(), members_.end(), [](const auto& m) { return m->ready; })) {
      for (auto& member : members_) member->stream.queue(FrameKind::kGo);
      for (auto& member : members_) member->stream.flushWithin(kLastWordsMilliseconds);
      done_ = true;
    } else if (deadline_->passed()) {
      giveUp(ResultCode::kRemoteError, fmt::format("timed out after {} s waiting for ranks {} of {}",
                                                   timeout_.count(), rankList(missing()), members_.size()));
    }
  }
}

void Root::waitForSomething() {
  std::vector<pollfd> fds{{stop_.get(), POLLIN, 0}};
  acceptor_->addTo(fds);
  for (const auto& member : members_)
    if (member) fds.push_back({member->stream.fd(), POLLIN, 0});
  // Without a rank there is nothing to be late for; strangers that keep silent are looked at every second.
  const int milliseconds = deadline_ ? deadline_->pollMilliseconds() : fds.size() > 2 ? 1000 : -1;
  poll(fds.data(), fds.size(), milliseconds);
}

void Root::checkIn(Accepted accepted) {
  if (done_) return;
  const Hello& hello = accepted.hello;
  FrameStream stream(std::move(accepted.socket));
  const auto refuse = [&](ResultCode code, const std::string& text) {
    stream.queueError(code, text);
    stream.flushWithin(kLastWordsMilliseconds);
    stream.endWriting();
    giveUp(code, text);
    stream.awaitClose(Deadline::after(std::chrono::milliseconds(kLastWordsMilliseconds)));
  };
  if (hello.purpose != Purpose::kCheckIn || hello.ranks < 1 || hello.ranks > kMostRanks || hello.rank < 0 ||
      hello.rank >= hello.ranks)
    return refuse(ResultCode::kInvalidUsage,
                  fmt::format("there is no rank {} of {}", hello.rank, hello.ranks));
  if (members_.empty()) {
    members_.resize(static_cast<std::size_t>(hello.ranks));
    deadline_ = Deadline::after(timeout_);
  }
  if (members_.size() != static_cast<std::size_t>(hello.ranks))
    return refuse(ResultCode::kInvalidUsage, fmt::format("rank {} says there are {} ranks, others say {}",
                                                         hello.rank, hello.ranks, members_.size()));
  auto& member = members_[static_cast<std::size_t>(hello.rank)];
  if (member)
    return refuse(ResultCode::kInvalidUsage, fmt::format("two processes say they are rank {}", hello.rank));
  member.emplace();
  member->stream = std::move(stream);
  member->address = hello.address;
  ++present_;
}

void Root::listenToMembers() {
  for (std::size_t rank = 0; rank < members_.size() && !done_; ++rank) {
    if (!members_[rank]) continue;
    Frame frame;
    switch (members_[rank]->stream.read(frame, 0)) {
      case FrameStream::Read::kNothing:
        break;
      case FrameStream::Read::kClosed:
        giveUp(ResultCode::kRemoteError, fmt::format("rank {} ended while the ranks were connecting", rank));
        break;
      case FrameStream::Read::kFrame:
        if (frame.header.kind == FrameKind::kReady)
          members_[rank]->ready = true;
        else
          giveUp(ResultCode::kRemoteError, frame.text());
        break;
    }
  }
}

void Root::introduce() {
  const std::size_t n = members_.size();
  for (std::size_t rank = 0; rank < n; ++rank) {
    const WireAddress next = members_[(rank + 1) % n]->address;
    members_[rank]->stream.queue(FrameKind::kNext, std::as_bytes(std::span(&next, 1)));
  }
  for (auto& member : members_) member->stream.flushWithin(kLastWordsMilliseconds);
  introduced_ = true;
}

std::vector<int> Root::missing() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    if (!members_[rank] || (introduced_ && !members_[rank]->ready)) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

void Root::giveUp(ResultCode code, const std::string& text) {
  log_->warn("Bootstrap : {}", text);
  done_ = true;
  for (auto& member : members_)
    if (member) member->stream.queueError(code, text);
  for (auto& member : members_) {
    if (!member) continue;
    member->stream.flushWithin(kLastWordsMilliseconds);
    member->stream.endWriting();
  }
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(kLastWordsMilliseconds));
  for (auto& member : members_)
    if (member) member->stream.awaitClose(deadline);
}

}  // namespace xylem
