#include "runtime/bootstrap/bootstrap.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace xylem {
namespace {

using Clock = std::chrono::steady_clock;

// A rank that we wait for and have no connection to is called after this long, to see whether it lives.
constexpr std::chrono::seconds kPatience{1};
// The roll call is over when nothing new has been heard for kQuiet, and at the latest after kLongestRoll.
constexpr std::chrono::milliseconds kQuiet{250};
constexpr std::chrono::milliseconds kLongestRoll{2000};
// Between ranks that tell each other that another one has failed.
constexpr std::chrono::milliseconds kReasonsTake{150};
constexpr int kRollStepMilliseconds = 10;
constexpr int kLookMilliseconds = 200;
constexpr int kLastWordsMilliseconds = 200;
constexpr int kHurriedWordsMilliseconds = 20;

}  // namespace

Bootstrap::Bootstrap(int rank, int ranks, const SocketAddress& interface, const Secret& secret,
                     std::chrono::seconds timeout, const Logger& log, const AbortFlag* abort)
    : rank_(rank),
      ranks_(ranks),
      secret_(secret),
      timeout_(timeout),
      log_(log),
      abort_(abort),
      everyone_(static_cast<std::size_t>(ranks)),
      links_(rank, ranks, interface, secret, log) {
  std::iota(everyone_.begin(), everyone_.end(), 0);
  pollAlso({});
  links_.onNews = [this](int peer, Frame& frame) { hear(peer, frame); };
}

void Bootstrap::pollAlso(std::vector<pollfd> fds) {
  alsoPoll_ = std::move(fds);
  if (abort_ != nullptr) alsoPoll_.push_back({abort_->fd(), POLLIN, 0});
}

Error Bootstrap::ended(int rank, const char* what) const {
  return Error(ResultCode::kRemoteError, "rank {} ended while rank {} waited for it in {}", rank, rank_,
               what);
}

void Bootstrap::hear(int peer, Frame& frame) {
  if (frame.header.kind == FrameKind::kError) {
    // That the ranks do not fit together is no other error for hearing it from one of them.
    const bool misfit = frame.header.code == static_cast<int>(ResultCode::kInvalidUsage);
    if (!badNews_)
      badNews_ = Error(misfit ? ResultCode::kInvalidUsage : ResultCode::kRemoteError, "{}", frame.text());
  } else if (frame.header.kind == FrameKind::kWhere) {
    if (roll_.merge(frame.payload)) hasNewsOfRoll_ = true;
    rollEnds_ = Clock::now() + kLongestRoll;
    if (waitsIn_ != nullptr && !roll_.knows(rank_)) answerRoll();
  } else {
    log_.warn("Bootstrap : rank {} ignores message {} of rank {}", rank_,
              static_cast<unsigned>(frame.header.kind), peer);
  }
}

void Bootstrap::lookAlso(std::function<void(const char* what)> look) {
  alsoLook_ = [this, look = std::move(look)] { look(waitsIn_ != nullptr ? waitsIn_ : "connecting"); };
}

void Bootstrap::look() {
  if (badNews_) throw *badNews_;
  if (abort_ != nullptr && abort_->raised())
    throw Error(ResultCode::kInternalError, "rank {} was told to abort{}{}", rank_,
                waitsIn_ != nullptr ? " while it waited in " : "", waitsIn_ != nullptr ? waitsIn_ : "");
  if (alsoLook_) alsoLook_();
}

void Bootstrap::await(const Phase& phase, int peer, const std::function<bool()>& done) {
  struct Place {
    Bootstrap& self;
    ~Place() { self.waitsIn_ = nullptr; }
  } const place{*this};
  waitsIn_ = phase.what;
  waitsFor_ = peer;
  if (roll_.size() > 0) answerRoll();
  const Clock::time_point start = Clock::now();
  for (;;) {
    look();
    if (done()) break;
    if (peer >= 0 && links_.gone(peer)) {
      awaitReason();
      throw ended(peer, phase.what);
    }
    if (phase.deadline.passed()) timedOut(phase, peer);
    if (peer >= 0 && peer != rank_ && joined_ && links_.knows(peer) && !links_.linked(peer) &&
        Clock::now() - start > kPatience)
      links_.call(peer);
    gossip();
    try {
      links_.step(phase.deadline.pollMilliseconds(alsoLook_ ? kLookMilliseconds : 1000), alsoPoll_);
    } catch (const Error&) {
      awaitReason();
      throw;
    }
  }
}

// A call that begins while a roll call is on says so; what was heard in an older one is out of date.
void Bootstrap::answerRoll() {
  if (Clock::now() > rollEnds_) {
    roll_.clear();
    hasNewsOfRoll_ = false;
  } else {
    roll_.note(rank_, waitsIn_, waitsFor_);
    hasNewsOfRoll_ = true;
  }
}

void Bootstrap::gossip() {
  if (!hasNewsOfRoll_) return;
  hasNewsOfRoll_ = false;
  const std::vector<std::byte> bytes = roll_.bytes();
  for (const int peer : links_.peers()) links_.send(peer, FrameKind::kWhere, 0, bytes);
}

void Bootstrap::timedOut(const Phase& phase, int peer) {
  if (!joined_)
    throw Error(ResultCode::kRemoteError, "timed out after {} s waiting for {} while {}", timeout_.count(),
                peer < 0 ? root_ : fmt::format("rank {}", peer), phase.what);
  // With the ranks at distances of powers of two the news spreads also where the ring is broken.
  for (int distance = 1; distance < ranks_; distance *= 2)
    if (const int other = (rank_ + distance) % ranks_; links_.knows(other)) links_.call(other);
  rollEnds_ = Clock::now() + kLongestRoll;
  answerRoll();
  const Deadline end = Deadline::after(kLongestRoll);
  Clock::time_point lastNews = Clock::now();
  std::vector<int> told;
  while (!end.passed() && Clock::now() - lastNews < kQuiet && roll_.size() < everyone_.size()) {
    look();
    // Connections that have just been made have not heard anything yet.
    if (std::vector<int> peers = links_.peers(); peers != told) {
      told = std::move(peers);
      hasNewsOfRoll_ = true;
    }
    if (hasNewsOfRoll_) lastNews = Clock::now();
    gossip();
    try {
      links_.step(kRollStepMilliseconds, {});
    } catch (const Error&) {
      // Who cannot be reached is missing.
    }
  }
  look();
  gossip();  // who knows enough leaves, but not without having said what it knows
  throw Error(ResultCode::kRemoteError, "timed out after {} s in {}: {}", timeout_.count(), phase.what,
              roll_.report(phase.what, phase.members));
}

void Bootstrap::awaitReason() {
  const Deadline end = Deadline::after(kReasonsTake);
  do {
    look();
    try {
      links_.step(end.pollMilliseconds(kRollStepMilliseconds), alsoPoll_);
    } catch (const Error&) {
      // One more that cannot be reached is no reason.
    }
  } while (!end.passed());
  look();
}

void Bootstrap::check() {
  look();
  links_.step(0, {});
  look();
  if (ranks_ == 1) return;
  for (const int neighbour : {previousRank(), nextRank()})
    if (links_.gone(neighbour)) {
      awaitReason();
      throw Error(ResultCode::kRemoteError, "rank {} ended before rank {} had finished", neighbour, rank_);
    }
}

void Bootstrap::abort(std::string_view reason, ResultCode code) noexcept {
  const bool hurries = abort_ != nullptr && abort_->raised();
  links_.close(code, reason, hurries ? kHurriedWordsMilliseconds : kLastWordsMilliseconds);
  try {
    if (!badNews_) badNews_ = Error(code, "{}", reason);
  } catch (const std::exception&) {
    // Later calls find their connections closed.
  }
}

void Bootstrap::send(int peer, std::uint64_t tag, std::span<const std::byte> bytes, const char* what) {
  if (peer < 0 || peer >= ranks_)
    throw Error(ResultCode::kInvalidArgument, "there is no rank {} of {} to send to", peer, ranks_);
  const int both[] = {rank_, peer};
  const Phase sending{what, both, Deadline::after(timeout_)};
  look();
  if (peer == rank_) return links_.keep(FrameKind::kMessage, tag, bytes);
  if (!links_.linked(peer)) links_.call(peer);
  links_.send(peer, FrameKind::kMessage, tag, bytes);
  await(sending, peer, [&] { return links_.sent(peer); });
}

std::vector<std::byte> Bootstrap::receive(int peer, std::uint64_t tag, const char* what) {
  if (peer < 0 || peer >= ranks_)
    throw Error(ResultCode::kInvalidArgument, "there is no rank {} of {} to receive from", peer, ranks_);
  const int both[] = {rank_, peer};
  const Phase receiving{what, both, Deadline::after(timeout_)};
  Frame frame;
  await(receiving, peer, [&] { return links_.take(peer, FrameKind::kMessage, tag, frame); });
  return std::move(frame.payload);
}

std::unique_ptr<Bootstrap> Bootstrap::split(std::span<const int> members, const AbortFlag* abort,
                                            const char* what) {
  const auto index = static_cast<int>(indexAmong(members));
  const std::uint64_t count = ++splits_[groupOf(members)];
  const Secret secret = derive("xylem split", {std::as_bytes(std::span(secret_)), std::as_bytes(members),
                                               std::as_bytes(std::span(&count, 1))});
  std::unique_ptr<Bootstrap> child(new Bootstrap(index, static_cast<int>(members.size()), links_.interface(),
                                                 secret, timeout_, log_, abort != nullptr ? abort : abort_));
  const auto addresses = allGatherAmong(members, child->links_.address().toWire(), what);
  for (std::size_t i = 0; i < addresses.size(); ++i)
    child->links_.know(static_cast<int>(i), SocketAddress::fromWire(addresses[i]));
  child->joined_ = true;
  try {
    // Whoever gives up before there are connections can tell it here only.
    child->alsoLook_ = [this] {
      links_.step(0, {});
      look();
    };
    child->connectNeighbours(child->phase(what));
    child->alsoLook_ = nullptr;
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

}  // namespace xylem
