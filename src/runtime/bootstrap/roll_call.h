#pragma once
// Who waits where, when some rank has waited too long: each rank that waits tells its neighbours what it
// knows, they add themselves and pass it on, and after a moment all who can be reached know the same. Whoever
// is not on the list has not arrived.
//
//   RollCall roll;
//   roll.note(rank, "the exchange of peers", 5);
//   if (roll.merge(bytesOfAnother)) tellNeighbours(roll.bytes());
//   roll.report("the exchange of peers", allRanks)
//       "ranks 3, 5 have not arrived; ranks 0, 1, 2 wait there; rank 4 waits in a barrier for rank 6"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xylem {

class RollCall {
 public:
  // That `rank`, the caller's own, waits in `what` for `peer` (-1: for nobody in particular).
  void note(int rank, std::string_view what, int peer);
  bool knows(int rank) const { return places_.contains(rank); }
  std::size_t size() const { return places_.size(); }
  void clear() { places_.clear(); }

  std::vector<std::byte> bytes() const;
  // True if there was anything new in it. What is not such bytes is ignored.
  bool merge(std::span<const std::byte> bytes);

  // The sentence about `expected`, of which some are missing in `what`.
  std::string report(std::string_view what, std::span<const int> expected) const;

 private:
  struct Place {
    std::uint32_t version = 0;  // of what the rank says about itself
    std::int32_t peer = -1;
    std::string what;
  };
  std::map<int, Place> places_;
  std::uint32_t notes_ = 0;
};

}  // namespace xylem
