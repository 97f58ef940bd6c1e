#include "runtime/comm/watch/peer_watch.h"

#include <algorithm>

namespace xylem::comm {

using transport::Connection;
using transport::PeerSession;
using transport::PeerState;

std::string toldToPeers(int rank, const Error& error) {
  if (error.code() == ResultCode::kRemoteError) return error.what();
  return fmt::format("rank {} failed: {}", rank, error.what());
}

void PeerWatch::add(Connection& connection) {
  const std::lock_guard lock(mutex_);
  connections_.push_back(&connection);
  PeerSession* const session = connection.session();
  if (session != nullptr && std::find(sessions_.begin(), sessions_.end(), session) == sessions_.end())
    sessions_.push_back(session);
}

void PeerWatch::add(transport::PeerSessions& sessions) { all_.store(&sessions, std::memory_order_release); }

Connection* PeerWatch::connection(std::size_t number) const {
  const std::lock_guard lock(mutex_);
  return number < connections_.size() ? connections_[number] : nullptr;
}

PeerSession* PeerWatch::session(std::size_t number) const {
  const std::lock_guard lock(mutex_);
  return number < sessions_.size() ? sessions_[number] : nullptr;
}

void PeerWatch::throwIfAborted() {
  for (std::size_t i = 0; Connection* const each = connection(i); ++i)
    if (const transport::PeerNews news = each->news(); news.state == PeerState::kAborted)
      throw Error(ResultCode::kRemoteError, "{}", news.text);
}

bool PeerWatch::gone(int peer, std::string& how) {
  bool open = false, closed = false;
  for (std::size_t i = 0; Connection* const each = connection(i); ++i) {
    if (each->peer() != peer) continue;
    const transport::PeerNews news = each->news();
    switch (news.state) {
      case PeerState::kLost:
        how = howGone(news);
        return true;
      case PeerState::kClosed:
        how = howGone(news);
        closed = true;
        break;
      case PeerState::kThere:
      case PeerState::kAborted:
        open = open || each->ready();
        break;
    }
  }
  return closed && !open;
}

int PeerWatch::neededFor(int peer) {
  int needed = -1;
  for (std::size_t i = 0; Connection* const each = connection(i); ++i)
    if (needed < 0 && each->peer() == peer) needed = each->needsBeside();
  return needed;
}

void PeerWatch::ask() noexcept {
  bool any = false;
  for (std::size_t i = 0; PeerSession* const each = session(i); ++i) any = each->ask() || any;
  asked_.store(any, std::memory_order_relaxed);
}

PeerWatch::Answer PeerWatch::answerOf(int peer) {
  for (std::size_t i = 0; PeerSession* const each = session(i); ++i)
    if (each->peer() == peer && each->asked()) return each->answered() ? Answer::kGiven : Answer::kNone;
  return Answer::kNotAsked;
}

void PeerWatch::abort(int failedRank, std::string_view text) noexcept {
  // Every peer hears of it before this rank waits for any.
  for (std::size_t i = 0; PeerSession* const each = session(i); ++i) each->tellAbort(failedRank, text);
  try {
    if (transport::PeerSessions* const all = all_.load(std::memory_order_acquire))
      all->abort(failedRank, text);
  } catch (const std::exception&) {
    // There is no memory to tell the peers that are not connected.
  }
  for (std::size_t i = 0; Connection* const each = connection(i); ++i) each->withdraw();
  const Deadline told = Deadline::after(transport::kAbortTime);
  for (std::size_t i = 0; PeerSession* const each = session(i); ++i) each->flushWithin(told);
  const Deadline released = Deadline::after(transport::kReleaseTime);
  for (std::size_t i = 0; Connection* const each = connection(i); ++i) each->awaitRelease(released);
}

}  // namespace xylem::comm
