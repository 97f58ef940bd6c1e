#pragma once
// How far the cores of the other ranks are from this one's, as operations find out.
//
//   PeerDistances distances(meeting, false, now);
//   meeting.beat();                                            // every rank, in each operation that tells
//   if (const auto rank = distances.note(bytes)) handOverAnew();   // after it: that rank is far now, or near
//   copy(distances.isFar(peer));

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/collectives/meeting.h"
#include "runtime/transport/choices/core_distance.h"

namespace xylem::collectives {

class PeerDistances {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;

  // `far`: what is taken of all until a line has been timed by the clock `now`.
  PeerDistances(const Meeting& meeting, bool far, const Now& now)
      : meeting_(meeting),
        now_(now),
        peers_(static_cast<std::size_t>(meeting.ranks()), Peer(far)),
        asked_((meeting.rank() + 1) % meeting.ranks()) {}

  bool isFar(int rank) const { return peers_[static_cast<std::size_t>(rank)].distance.isFar(); }

  // After an operation of this many bytes. Asks one rank after the other how far it is, and returns it if that has changed. No two ranks ask the
  // same one in the same operation: the second one might have its line from the cache of the first.
  std::optional<int> note(std::size_t bytes) {
    if (!isDue_.isDue(bytes)) return {};
    const int rank = asked_;
    do asked_ = (asked_ + 1) % meeting_.ranks();
    while (asked_ == meeting_.rank());
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.distance.took(peer.beat.load(meeting_.beatOf(rank), now_))) return {};
    return rank;
  }

 private:
  struct Peer {
    explicit Peer(bool far) : distance(far) {}
    transport::BeatProbe beat;
    transport::CoreDistance distance;
  };

  const Meeting& meeting_;
  const Now now_;
  std::vector<Peer> peers_;     // by rank
  int asked_;                   // the next one whose distance is asked for
  transport::BeatProbe isDue_;  // says when
};

}  // namespace xylem::collectives
