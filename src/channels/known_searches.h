#pragma once
// Searches whose outcome is known before they are made, since an equal one was made before. The driver
// relaxes one thing after the other, and often nothing comes of it: no path has the next type, or just as
// many channels of 10 GB/s fit as of 12.
//
//   const SearchKeys keys = searchKeys(space, terrain, room, wanted);
//   const KnownSearches::Outcome* known = searches.find(keys);
//   if (known && !isBetter(wanted, best, known->completed)) ...
//
// Searches are equal that see the same terrain with the same room (Room): they have the same to try. If the
// first tried it all, so would the other: with the same steps and the same completed, which improves nothing
// if the best of it, at the present bandwidth, is no improvement now. If the budget ran out before, they have
// to try it in the same order, too: where free bandwidth ranks GPUs (hosts with NETs and without NVSwitches)
// it has to be the same.

#include <cstdint>
#include <vector>

#include "channels/completed.h"
#include "channels/room.h"
#include "channels/search_space.h"
#include "channels/terrain.h"

namespace xylem {

struct SearchKeys {
  std::uint64_t content = 0;  // equal for searches that have the same to try
  std::uint64_t order = 0;    // equal for those that try it in the same order
};
SearchKeys searchKeys(const SearchSpace& space, const Terrain& terrain, const Room& room,
                      const ChannelGraph& wanted);

class KnownSearches {
 public:
  struct Outcome {
    SearchKeys keys;
    bool exhaustive = false;  // every order was tried
    std::int64_t steps = 0;
    std::int64_t left = 0;  // of the budget
    Completed completed;    // hops: since the start
  };

  // Null if none is known.
  const Outcome* find(const SearchKeys& keys) const {
    for (const Outcome& outcome : outcomes_)
      if (outcome.keys.order == keys.order || (outcome.exhaustive && outcome.keys.content == keys.content))
        return &outcome;
    return nullptr;
  }
  void add(const Outcome& outcome) { outcomes_.push_back(outcome); }

 private:
  std::vector<Outcome> outcomes_;  // few: tens
};

}  // namespace xylem
