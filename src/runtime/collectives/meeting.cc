#include "runtime/collectives/meeting.h"

namespace xylem::collectives {

// Reading how far another rank has left costs a transfer of that rank's cache line, which it writes in every
// operation. So it is not read for every operation: this waits until the others have left `more` meetings
// than needed, which serves the next operations too.
bool Meeting::findSlot(std::uint64_t needed, std::uint64_t more) {
  std::uint64_t leftByAll = number_;
  for (; nextRank_ < ranks(); ++nextRank_) {
    const auto p = static_cast<std::size_t>(nextRank_);
    if (nextRank_ == rank_ || leftSeen_[p] >= needed) continue;
    leftSeen_[p] = peers_[p].mailbox->left.load(std::memory_order_acquire);
    if (leftSeen_[p] < needed + more) return blockedBy(nextRank_);
  }
  for (int rank = 0; rank < ranks(); ++rank)
    if (rank != rank_) leftByAll = std::min(leftByAll, leftSeen_[static_cast<std::size_t>(rank)]);
  leftByAll_ = leftByAll;
  return true;
}

bool Meeting::othersArePresent() {
  for (int rank = 0; rank < ranks(); ++rank)
    if (rank != rank_ && peers_[static_cast<std::size_t>(rank)].mailbox->withdrawn()) return blockedBy(rank);
  return true;
}

bool Meeting::othersLeft() {
  for (; nextRank_ < ranks(); ++nextRank_) {
    const auto p = static_cast<std::size_t>(nextRank_);
    if (nextRank_ == rank_ || leftSeen_[p] >= number_) continue;
    leftSeen_[p] = peers_[p].mailbox->left.load(std::memory_order_acquire);
    if (leftSeen_[p] < number_) return blockedBy(nextRank_);
  }
  return true;
}

}  // namespace xylem::collectives
