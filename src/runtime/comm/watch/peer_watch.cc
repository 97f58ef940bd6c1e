#include "runtime/comm/watch/peer_watch.h"

#include "runtime/comm/join/transports.h"

namespace xylem::comm {

void PeerWatch::add(transport::Connection& connection) {
  const std::lock_guard lock(mutex_);
  connections_.push_back(&connection);
}

void PeerWatch::add(Transports& transports) {
  const std::lock_guard lock(mutex_);
  transports_ = &transports;
}

void PeerWatch::throwIfAborted() {
  const std::lock_guard lock(mutex_);
  for (transport::Connection* connection : connections_) {
    const transport::PeerNews news = connection->news();
    if (news.state == transport::PeerState::kAborted) throw Error(ResultCode::kRemoteError, "{}", news.text);
  }
}

bool PeerWatch::gone(int peer, std::string& how) {
  const std::lock_guard lock(mutex_);
  bool open = false, closed = false;
  for (transport::Connection* connection : connections_) {
    if (connection->peer() != peer) continue;
    const transport::PeerNews news = connection->news();
    switch (news.state) {
      case transport::PeerState::kLost:
        how = news.how.empty() ? "its process ended or cannot be reached" : news.how;
        return true;
      case transport::PeerState::kClosed:
        closed = true;
        break;
      case transport::PeerState::kThere:
      case transport::PeerState::kAborted:
        open = open || connection->ready();
        break;
    }
  }
  if (closed && !open) how = "it destroyed its communicator";
  return closed && !open;
}

void PeerWatch::ask() noexcept {
  const std::lock_guard lock(mutex_);
  askedOver_.clear();
  for (transport::Connection* connection : connections_)
    if (connection->ask()) askedOver_.push_back(connection);
  asked_.store(!askedOver_.empty(), std::memory_order_relaxed);
}

PeerWatch::Answer PeerWatch::answerOf(int peer) {
  const std::lock_guard lock(mutex_);
  Answer answer = Answer::kNotAsked;
  for (transport::Connection* connection : askedOver_) {
    if (connection->peer() != peer) continue;
    if (connection->answered()) return Answer::kGiven;
    answer = Answer::kNone;
  }
  return answer;
}

void PeerWatch::abort(int failedRank, std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  for (transport::Connection* connection : connections_) connection->abort(failedRank, text);
  if (transports_ == nullptr) return;
  try {
    transports_->abort(failedRank, text);
  } catch (const std::exception&) {
    // There is no memory to tell the peers that are not connected.
  }
}

}  // namespace xylem::comm
