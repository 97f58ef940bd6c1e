#pragma once
// Searches whose outcome is known before they are made, since an equal one was made before. The driver
// relaxes one thing after the other, and often nothing comes of it: no path has the next type, or just as
// many channels of 10 GB/s fit as of 12.
//
//   const std::uint64_t key = exactKey(space, terrain, wanted);
//   const KnownSearches::Outcome* known = searches.find(key);
//   if (known && !isBetter(wanted, best, known->completed)) ...
//
// Searches of the same exact key are the same. Those of the same room key see the same terrain with the same
// room (Room): they have the same to try. If the first tried it all, so would the other: with the same steps
// and the same completed, which improves nothing if the best of it, at the present bandwidth, is no
// improvement now. If the budget ran out before, they have to try it in the same order, too
// (Room::ranksAlike).

#include <cstdint>
#include <vector>

#include "planner/search/completed.h"
#include "planner/search/room.h"
#include "planner/search/search_space.h"
#include "planner/search/terrain.h"

namespace xylem {

std::uint64_t exactKey(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted);
std::uint64_t roomKey(const Terrain& terrain, const Room& room, const ChannelGraph& wanted);

class KnownSearches {
 public:
  struct Outcome {
    std::int64_t steps = 0;
    std::int64_t left = 0;  // of the budget
    Completed completed;    // hops: since the start
  };

  // Null if none is known.
  const Outcome* find(std::uint64_t key) const;
  void add(std::uint64_t key, const Outcome& outcome);

 private:
  std::vector<std::uint64_t> keys_;  // few: tens
  std::vector<Outcome> outcomes_;    // by key
};

}  // namespace xylem
