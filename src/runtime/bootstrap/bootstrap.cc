#include "runtime/bootstrap/bootstrap.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace xylem::bootstrap {
namespace {

using Clock = std::chrono::steady_clock;

// After this long, a rank connects to the rank that it waits for, if it has no connection, to see whether it
// lives.
constexpr std::chrono::seconds kConnectDelay{1};
// After a time-out, collecting who waits where ends when nothing new has been heard for kQuiet, and after
// kMaxCollect at the latest.
constexpr std::chrono::milliseconds kQuiet{250};
constexpr std::chrono::milliseconds kMaxCollect{2000};
// The time for a rank that sees another one vanish to receive the reason.
constexpr std::chrono::milliseconds kReasonTime{150};
constexpr int kCollectStepMilliseconds = 10;
constexpr int kCheckMilliseconds = 200;  // between two calls of what alsoCheck was given
// For sending the reason of an abort; less if the abort flag of this rank is raised.
constexpr int kLastFrameMilliseconds = 200;
constexpr int kHurriedLastFrameMilliseconds = 20;

}  // namespace

Bootstrap::Bootstrap(int rank, int ranks, const sockets::SocketAddress& interface,
                     const sockets::Secret& secret, std::chrono::seconds timeout, const Logger& log,
                     const sockets::AbortFlag* abort)
    : rank_(rank),
      ranks_(ranks),
      secret_(secret),
      timeout_(timeout),
      log_(log),
      abort_(abort),
      allRanks_(static_cast<std::size_t>(ranks)),
      links_(rank, ranks, interface, secret, log) {
  std::iota(allRanks_.begin(), allRanks_.end(), 0);
  pollAlso({});
  links_.onNews = [this](int peer, sockets::Frame& frame) { hear(peer, frame); };
}

void Bootstrap::pollAlso(std::vector<pollfd> fds) {
  alsoPoll_ = std::move(fds);
  if (abort_ != nullptr) alsoPoll_.push_back({abort_->fd(), POLLIN, 0});
}

Error Bootstrap::ended(int rank, const char* what) const {
  return Error(ResultCode::kRemoteError, "rank {} ended while rank {} waited for it in {}", rank, rank_,
               what);
}

void Bootstrap::hear(int peer, sockets::Frame& frame) {
  if (frame.header.kind == sockets::FrameKind::kError) {
    // An invalid usage keeps its code: it is an error of all ranks, whichever found it. Other errors are
    // remote.
    const bool misfit = frame.header.code == static_cast<int>(ResultCode::kInvalidUsage);
    if (!failure_)
      failure_ = Error(misfit ? ResultCode::kInvalidUsage : ResultCode::kRemoteError, "{}", frame.text());
  } else if (frame.header.kind == sockets::FrameKind::kWhere) {
    if (waits_.merge(frame.payload)) hasNewsOfWaits_ = true;
    collectEnds_ = Clock::now() + kMaxCollect;
    if (waitsIn_ != nullptr && !waits_.knows(rank_)) addOwnWait();
  } else {
    log_.warn("Bootstrap : rank {} ignores message {} of rank {}", rank_,
              static_cast<unsigned>(frame.header.kind), peer);
  }
}

void Bootstrap::alsoCheck(std::function<void(const char* what)> check) {
  alsoCheck_ = [this, check = std::move(check)] { check(waitsIn_ != nullptr ? waitsIn_ : "connecting"); };
}

void Bootstrap::throwIfOver() {
  if (failure_) throw *failure_;
  if (abort_ != nullptr && abort_->raised())
    throw Error(ResultCode::kInternalError, "rank {} was told to abort{}{}", rank_,
                waitsIn_ != nullptr ? " while it waited in " : "", waitsIn_ != nullptr ? waitsIn_ : "");
  if (alsoCheck_) alsoCheck_();
}

void Bootstrap::await(const Phase& phase, int peer, const std::function<bool()>& done) {
  struct Wait {
    Bootstrap& self;
    bool told = false;
    ~Wait() {
      self.waitsIn_ = nullptr;
      if (told) self.onWait_("", -1);
    }
  } wait{*this};
  waitsIn_ = phase.what;
  waitsFor_ = peer;
  if (waits_.size() > 0) addOwnWait();
  const Clock::time_point start = Clock::now();
  for (;;) {
    throwIfOver();
    if (done()) break;
    if (onWait_ && !wait.told) {
      wait.told = true;
      onWait_(phase.what, peer);
    }
    if (peer >= 0 && links_.gone(peer)) {
      awaitReason();
      throw ended(peer, phase.what);
    }
    if (phase.deadline.passed()) timedOut(phase, peer);
    if (peer >= 0 && peer != rank_ && joined_ && links_.knows(peer) && !links_.linked(peer) &&
        Clock::now() - start > kConnectDelay)
      links_.call(peer);
    spreadWaits();
    try {
      links_.step(phase.deadline.pollMilliseconds(alsoCheck_ ? kCheckMilliseconds : 1000), alsoPoll_);
    } catch (const Error&) {
      awaitReason();
      throw;
    }
  }
}

// Adds where this rank waits, if a rank that has timed out is asking. Reports after an earlier
// time-out are out of date.
void Bootstrap::addOwnWait() {
  if (Clock::now() > collectEnds_) {
    waits_.clear();
    hasNewsOfWaits_ = false;
  } else {
    waits_.note(rank_, waitsIn_, waitsFor_);
    hasNewsOfWaits_ = true;
  }
}

void Bootstrap::spreadWaits() {
  if (!hasNewsOfWaits_) return;
  hasNewsOfWaits_ = false;
  const std::vector<std::byte> bytes = waits_.bytes();
  for (const int peer : links_.peers()) links_.send(peer, sockets::FrameKind::kWhere, 0, bytes);
}

// Ends a call that has waited too long with an error that says which ranks are missing and where the others
// wait. The ranks find out together: this one notes where it waits and sends that to its peers (kWhere),
// which add where they wait and pass it on. When nothing new comes for a moment, what is known is reported.
void Bootstrap::timedOut(const Phase& phase, int peer) {
  if (!joined_)
    throw Error(ResultCode::kRemoteError, "timed out after {} s waiting for {} while {}", timeout_.count(),
                peer < 0 ? root_ : fmt::format("rank {}", peer), phase.what);
  // Connections to the ranks at distances of powers of two spread the news in few steps, even where the ring
  // is broken.
  for (int distance = 1; distance < ranks_; distance *= 2)
    if (const int other = (rank_ + distance) % ranks_; links_.knows(other)) links_.call(other);
  collectEnds_ = Clock::now() + kMaxCollect;
  addOwnWait();
  const Deadline end = Deadline::after(kMaxCollect);
  Clock::time_point lastNews = Clock::now();
  std::vector<int> informed;
  while (!end.passed() && Clock::now() - lastNews < kQuiet && waits_.size() < allRanks_.size()) {
    throwIfOver();
    // Peers that are newly connected have not been told anything yet.
    if (std::vector<int> peers = links_.peers(); peers != informed) {
      informed = std::move(peers);
      hasNewsOfWaits_ = true;
    }
    if (hasNewsOfWaits_) lastNews = Clock::now();
    spreadWaits();
    try {
      links_.step(kCollectStepMilliseconds, {});
    } catch (const Error&) {
      // A rank that cannot be reached is reported as missing.
    }
  }
  throwIfOver();
  spreadWaits();  // others may not know yet what this rank knows
  throw Error(ResultCode::kRemoteError, "timed out after {} s in {}: {}", timeout_.count(), phase.what,
              waits_.report(phase.what, phase.members));
}

void Bootstrap::awaitReason() {
  const Deadline end = Deadline::after(kReasonTime);
  do {
    throwIfOver();
    try {
      links_.step(end.pollMilliseconds(kCollectStepMilliseconds), alsoPoll_);
    } catch (const Error&) {
      // Another rank that cannot be reached is not the reason.
    }
  } while (!end.passed());
  throwIfOver();
}

void Bootstrap::check() {
  throwIfOver();
  links_.step(0, {});
  throwIfOver();
  if (ranks_ == 1) return;
  for (const int neighbour : {previousRank(), nextRank()})
    if (links_.gone(neighbour)) {
      awaitReason();
      throw Error(ResultCode::kRemoteError, "rank {} ended before rank {} had finished", neighbour, rank_);
    }
}

void Bootstrap::abort(std::string_view reason, ResultCode code) noexcept {
  const bool hurries = abort_ != nullptr && abort_->raised();
  links_.close(code, reason, hurries ? kHurriedLastFrameMilliseconds : kLastFrameMilliseconds);
  try {
    if (!failure_) failure_ = Error(code, "{}", reason);
  } catch (const std::exception&) {
    // Later calls find their connections closed.
  }
}

void Bootstrap::send(int peer, std::uint64_t tag, std::span<const std::byte> bytes, const char* what) {
  if (peer < 0 || peer >= ranks_)
    throw Error(ResultCode::kInvalidArgument, "there is no rank {} of {} to send to", peer, ranks_);
  const int both[] = {rank_, peer};
  const Phase sending{what, both, Deadline::after(timeout_)};
  throwIfOver();
  if (peer == rank_) return links_.keep(sockets::FrameKind::kMessage, tag, bytes);
  if (!links_.linked(peer)) links_.call(peer);
  links_.send(peer, sockets::FrameKind::kMessage, tag, bytes);
  await(sending, peer, [&] { return links_.sent(peer); });
}

std::vector<std::byte> Bootstrap::receive(int peer, std::uint64_t tag, const char* what) {
  if (peer < 0 || peer >= ranks_)
    throw Error(ResultCode::kInvalidArgument, "there is no rank {} of {} to receive from", peer, ranks_);
  const int both[] = {rank_, peer};
  const Phase receiving{what, both, Deadline::after(timeout_)};
  sockets::Frame frame;
  await(receiving, peer, [&] { return links_.take(peer, sockets::FrameKind::kMessage, tag, frame); });
  return std::move(frame.payload);
}

std::unique_ptr<Bootstrap> Bootstrap::split(std::span<const int> members, const sockets::AbortFlag* abort,
                                            const char* what) {
  const auto index = static_cast<int>(indexAmong(members));
  const std::uint64_t count = ++splits_[groupOf(members)];
  const sockets::Secret secret = sockets::derive(
      "xylem split",
      {std::as_bytes(std::span(secret_)), std::as_bytes(members), std::as_bytes(std::span(&count, 1))});
  std::unique_ptr<Bootstrap> child(new Bootstrap(index, static_cast<int>(members.size()), links_.interface(),
                                                 secret, timeout_, log_, abort != nullptr ? abort : abort_));
  const auto addresses = allGatherAmong(members, child->links_.address().toWire(), what);
  for (std::size_t i = 0; i < addresses.size(); ++i)
    child->links_.know(static_cast<int>(i), sockets::SocketAddress::fromWire(addresses[i]));
  child->joined_ = true;
  try {
    // A member that gives up before the new connections exist can say so over the old ones only.
    child->alsoCheck_ = [this] {
      links_.step(0, {});
      throwIfOver();
    };
    child->connectNeighbours(child->phase(what));
    child->alsoCheck_ = nullptr;
  } catch (const Error& error) {
    child->abort(error.what());
    throw;
  }
  return child;
}

void Bootstrap::connectNeighbours(const Phase& phase) {
  if (ranks_ == 1) return;
  links_.call(nextRank());
  await(phase, nextRank(), [&] { return links_.called(nextRank()); });
  await(phase, previousRank(), [&] { return links_.accepted(previousRank()); });
}

}  // namespace xylem::bootstrap
