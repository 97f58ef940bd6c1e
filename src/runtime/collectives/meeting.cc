#include "runtime/collectives/meeting.h"

#include "core/address_space.h"

namespace xylem::collectives {

Meeting::Meeting(int rank, transport::Mailbox& mine, std::vector<DirectPeer> peers, std::size_t cycle)
    : rank_(rank), mailbox_(mine), peers_(std::move(peers)), ring_(cycle), leftSeen_(peers_.size(), 0) {
  for (int other = 0; other < ranks(); ++other)
    if (other != rank) others_.push_back(other);
}

// The memory of the whole ring at once, before this rank first writes there: a few operations then do not seem to take twice as long as
// the later ones, which matters where these times decide how data moves (TwoWays).
void Meeting::populateRing() {
  populate(mailbox_.ring, ring_.cycle());
  ringIsPopulated_ = true;
}

// To load how far another rank is costs a transfer of its cache line, so it is not loaded for every operation: where that rank is farther
// than needed, the next operations need not ask.
bool Meeting::findSlot(std::uint64_t needed) {
  std::uint64_t leftByAll = number_;
  for (; next_ < others_.size(); ++next_) {
    const auto p = static_cast<std::size_t>(others_[next_]);
    if (leftSeen_[p] < needed) leftSeen_[p] = peers_[p].mailbox->left.load(std::memory_order_acquire);
    if (leftSeen_[p] < needed) return blockedBy(others_[next_]);
  }
  for (const int rank : others_) leftByAll = std::min(leftByAll, leftSeen_[static_cast<std::size_t>(rank)]);
  leftByAll_ = leftByAll;
  return true;
}

bool Meeting::othersArePresent() {
  for (const int rank : others_)
    if (peers_[static_cast<std::size_t>(rank)].mailbox->withdrawn()) return blockedBy(rank);
  return true;
}

bool Meeting::othersLeft() {
  for (; next_ < others_.size(); ++next_) {
    const auto p = static_cast<std::size_t>(others_[next_]);
    if (leftSeen_[p] >= number_) continue;
    leftSeen_[p] = peers_[p].mailbox->left.load(std::memory_order_acquire);
    if (leftSeen_[p] < number_) return blockedBy(others_[next_]);
  }
  return true;
}

}  // namespace xylem::collectives
