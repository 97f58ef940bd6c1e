#pragma once
// Searches whose outcome is known before they are made, since an equal one was made before. The driver
// relaxes one thing after the other, and often nothing comes of it: no path has the next type, or just as
// many channels of 10 GB/s fit as of 12.
//
//   const std::uint64_t key = searchKey(space, terrain, wanted);
//   if (const Outcome* known = searches.find(key); known && !isBetter(wanted, best, known->completed)) ...
//
// A search goes the same way as one before if it sees the same terrain and at every turn the same routes have
// room. For that the free bandwidths need not be equal: a link matters by how much of it can be used up in
// the amounts that routes ask for. Only where free bandwidth also ranks GPUs (hosts with NETs and without
// NVSwitches) it has to be the same. What the search completes is the same as well, so it improves nothing if
// the best that the first one completed, at the present bandwidth, is no improvement now.

#include <cstdint>
#include <vector>

#include "channels/explored.h"
#include "channels/search_space.h"
#include "channels/terrain.h"

namespace xylem {

// Equal for searches that go the same way.
std::uint64_t searchKey(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted);

class KnownSearches {
 public:
  struct Outcome {
    std::uint64_t key = 0;
    std::int64_t steps = 0;
    std::int64_t left = 0;  // of the budget
    Completed completed;    // hops: since the start
  };

  // Null if none is known.
  const Outcome* find(std::uint64_t key) const {
    for (const Outcome& outcome : outcomes_)
      if (outcome.key == key) return &outcome;
    return nullptr;
  }
  void add(const Outcome& outcome) { outcomes_.push_back(outcome); }

 private:
  std::vector<Outcome> outcomes_;  // few: tens
};

}  // namespace xylem
