#include "runtime/bootstrap/root.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "core/error.h"
#include "core/per_process.h"
#include "runtime/sockets/interfaces.h"

namespace xylem::bootstrap {
namespace {

constexpr int kRootSendMilliseconds = 1000;
// In jobs of up to this many ranks the root sends each rank the addresses of all others, not only that of the
// next: a frame of some tens of kilobytes.
constexpr std::size_t kMaxAddressesSent = 1024;
// A root whose ranks have all checked in waits this much longer, so that the root whose ranks are missing
// times out first and says which.
constexpr std::chrono::milliseconds kExtraTime{1000};

// The roots of this process. They end with it; programs may end communicators after that. A child of fork has none: their threads are its
// parent's.
class Roots {
 public:
  static Roots& instance() {
    static constinit PerProcess<Roots> roots;
    return roots.get();
  }
  void keep(std::unique_ptr<Root> root) {
    static constinit std::atomic<bool> endsAtExit{false};
    if (!endsAtExit.exchange(true)) std::atexit([] { instance().end(); });
    const std::lock_guard lock(mutex_);
    roots_.push_back(std::move(root));
  }
  void forgetEnded() {
    const std::lock_guard lock(mutex_);
    std::erase_if(roots_, [](const auto& r) { return r->ended(); });
  }

 private:
  void end() {
    const std::lock_guard lock(mutex_);
    roots_.clear();
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Root>> roots_;
};

sockets::SocketAddress startRoot(const sockets::SocketAddress& address, const sockets::Secret& secret,
                                 const Settings& settings, std::shared_ptr<const Logger> log) {
  const std::chrono::seconds timeout(settings.integer(Setting::kTimeout));
  auto root = std::make_unique<Root>(address, secret, timeout, std::move(log));
  const sockets::SocketAddress bound = root->address();
  root->start();
  forgetEndedRoots();
  Roots::instance().keep(std::move(root));
  return bound;
}

// True if `address`, as host:port, names this host, with or without the domain.
bool isThisHost(const std::string& address) {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return false;
  const std::string own = name.data(), host = address.substr(0, address.rfind(':'));
  return !own.empty() && (host == own || host.starts_with(own + ".") || own.starts_with(host + "."));
}

// Replaces a loopback address by that of an interface if the user gave this host's name. Many hosts resolve
// their own name to the loopback (Debian: 127.0.1.1), where other hosts would find neither the root nor the
// ranks.
UniqueId reachable(const UniqueId& id, const std::string& given, const Settings& settings) {
  if (!id.address().loopback() || !isThisHost(given)) return id;
  sockets::SocketAddress address = sockets::chooseInterface(sockets::listInterfaces(), settings).address;
  address.setPort(id.address().port());
  return {address, id.secret()};
}

}  // namespace

UniqueId openRendezvous(const Settings& settings, std::shared_ptr<const Logger> log) {
  if (settings.isSet(Setting::kCommId)) {
    const std::string given = settings.text(Setting::kCommId);
    return reachable(
        UniqueId::fromCommId(given, sockets::socketFamily(settings), settings.text(Setting::kSecret)), given,
        settings);
  }
  sockets::SocketAddress address = sockets::chooseInterface(sockets::listInterfaces(), settings).address;
  address.setPort(0);
  const sockets::Secret secret = sockets::randomSecret();
  return {startRoot(address, secret, settings, std::move(log)), secret};
}

void hostCommId(const UniqueId& id, const Settings& settings, std::shared_ptr<const Logger> log) {
  if (settings.isSet(Setting::kCommId)) startRoot(id.address(), id.secret(), settings, std::move(log));
}

void forgetEndedRoots() { Roots::instance().forgetEnded(); }

Root::Root(const sockets::SocketAddress& address, const sockets::Secret& secret, std::chrono::seconds timeout,
           std::shared_ptr<const Logger> log, const Reminder::Times& reminders)
    : log_(std::move(log)),
      timeout_(timeout),
      reminders_(reminders),
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
      giveUp(errorOf(error).code(), fmt::format("the root failed: {}", errorOf(error).what()));
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

// Each round accepts ranks that check in. Once all have, the root sends each the address of its next rank
// (introduce), waits until each of its own block has reported that it is connected, and tells all to go on.
// If there is an error, a rank ends early or the time is up, the root tells all ranks that are there (giveUp).
void Root::serve() {
  while (!done_) {
    waitForEvents();
    eventfd_t value = 0;
    if (eventfd_read(stop_.get(), &value) == 0) return;
    if (!members_.empty()) readFromMembers();
    if (done_) break;
    for (sockets::Accepted& accepted : acceptor_->advance()) checkIn(std::move(accepted));
    if (done_ || members_.empty()) continue;
    if (!introduced_ && present_ == members_.size()) introduce();
    if (complete()) {
      for (auto& member : members_) member->stream.queue(sockets::FrameKind::kGo);
      for (auto& member : members_) member->stream.flushWithin(kRootSendMilliseconds);
      done_ = true;
    } else if (deadline_->passed()) {
      giveUp(ResultCode::kRemoteError,
             fmt::format("timed out after {} s waiting for {} (of {} ranks)", timeout_.count(),
                         ranksNamed(missing()), roster_.blocks().ranks));
    } else {
      remind();
    }
  }
}

void Root::remind() {
  if (!reminder_ || !reminder_->due()) return;
  const std::vector<int> late = missing();
  if (late.empty()) return;
  log_->warn("Bootstrap : after {} s {} of {} {} {}; {}", reminder_->seconds(), ranksNamed(late),
             roster_.blocks().ranks, late.size() == 1 ? "has" : "have",
             introduced_ ? "checked in, without connecting to the next rank" : "not checked in",
             introduced_
                 ? "do all hosts reach each other over the chosen interfaces (NCCL_SOCKET_IFNAME)?"
                 : "the others wait: are the processes of those ranks running, and what do they print?");
}

void Root::waitForEvents() {
  fds_.assign({{stop_.get(), POLLIN, 0}});
  acceptor_->addTo(fds_);
  // The time-out starts with the first rank. Before, silent connections are checked every second.
  int milliseconds = deadline_ ? deadline_->pollMilliseconds() : acceptor_->busy() ? 1000 : -1;
  if (reminder_) milliseconds = std::min(milliseconds, reminder_->pollMilliseconds());
  polled_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i] || !members_[i]->stream.open()) continue;
    polled_.push_back(i);
    fds_.push_back({members_[i]->stream.fd(), POLLIN, 0});
  }
  poll(fds_.data(), fds_.size(), milliseconds);
}

std::optional<Root::Member>& Root::memberOf(const sockets::Hello& hello) {
  const std::size_t seat = roster_.seatOf(hello);
  if (members_.empty()) {
    members_.resize(roster_.seats());
    setDeadline(std::chrono::milliseconds(0));
    reminder_.emplace(reminders_);
  }
  return members_[seat];
}

void Root::checkIn(sockets::Accepted accepted) {
  if (done_) return;
  const sockets::Hello& hello = accepted.hello;
  sockets::FrameStream stream(std::move(accepted.socket));
  try {
    auto& member = memberOf(hello);
    if (member) throw Error(ResultCode::kInvalidUsage, "two processes say they are rank {}", hello.rank);
    member.emplace();
    member->stream = std::move(stream);
    member->address = hello.address;
    ++present_;
  } catch (const Error& error) {
    stream.queueError(error.code(), error.what());
    stream.flushWithin(kRootSendMilliseconds);
    stream.endWriting();
    giveUp(error.code(), error.what());
    stream.awaitClose(Deadline::after(std::chrono::milliseconds(kRootSendMilliseconds)));
  }
}

void Root::readFromMembers() {
  const std::size_t own = roster_.ownSeats();
  const std::size_t before = fds_.size() - polled_.size();
  for (std::size_t s = 0; s < polled_.size() && !done_; ++s) {
    if (fds_[before + s].revents == 0) continue;
    const std::size_t index = polled_[s];
    Member& member = *members_[index];
    sockets::Frame frame;
    switch (member.stream.read(frame, 0)) {
      case sockets::FrameStream::Read::kNothing:
        break;
      case sockets::FrameStream::Read::kClosed:
        if (index < own || !introduced_)
          giveUp(ResultCode::kRemoteError,
                 fmt::format("rank {} ended while the ranks were connecting", roster_.rankAt(index)));
        else
          member.stream.close();
        break;
      case sockets::FrameStream::Read::kFrame:
        if (frame.header.kind == sockets::FrameKind::kReady)
          member.ready = true;
        else
          giveUp(ResultCode::kRemoteError, frame.text());
        break;
    }
  }
}

void Root::introduce() {
  const std::size_t own = roster_.ownSeats();
  std::vector<sockets::WireAddress> addresses;
  for (const int round : {0, 1})
    for (std::size_t i = 0; i < members_.size() && (round == 0 || i < own); ++i)
      addresses.push_back(members_[i]->address);
  const std::size_t count = roster_.blocks().roots == 1 && own <= kMaxAddressesSent ? own : 1;
  for (std::size_t i = 0; i < own; ++i)
    members_[i]->stream.queue(sockets::FrameKind::kNext,
                              std::as_bytes(std::span(addresses).subspan(i + 1, count)));
  for (auto& member : members_) member->stream.flushWithin(kRootSendMilliseconds);
  introduced_ = true;
  if (roster_.blocks().roots > 1) setDeadline(kExtraTime);
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
    member->stream.flushWithin(kRootSendMilliseconds);
    member->stream.endWriting();
  }
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(kRootSendMilliseconds));
  for (auto& member : members_)
    if (member) member->stream.awaitClose(deadline);
}

}  // namespace xylem::bootstrap
