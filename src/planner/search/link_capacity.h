#pragma once
// How much fits on the links that a search uses: the part of a state that says which routes can still be
// taken.
//
//   const ChannelLoads loads(space, wanted);
//   const LinkCapacity capacity(space, routes, wanted, loads);
//   if (capacity.exact()) key = capacity.hash();
//
// All amounts that a search takes of a link are multiples of one unit, so the free bandwidth matters only by
// how many units fit; and of those, only as many count as sums of amounts can fill: if 10 and 12 GB/s are
// taken, 14 free are as good as 12. States of equal capacity allow the same sequences of routes. The order in
// which GPUs are tried may differ, because free bandwidth ranks them, but not the set of what is tried: an
// exploration that comes to its end takes the same steps and completes the same channels.

#include <cstdint>

#include "planner/search/search_space.h"
#include "planner/search/usable_routes.h"

namespace xylem::search {

class LinkCapacity {
 public:
  LinkCapacity(const SearchSpace& space, const UsableRoutes& routes, const ChannelGraph& wanted,
               const ChannelLoads& loads);

  // True if everything that the search takes and gives back is exact: it leaves the free bandwidths as it
  // found them, and no NET differs in latency. Only then are there units, and hashes.
  bool exact() const { return exact_; }
  // Equal for states in which as much fits on all links, within searches of the same bandwidths.
  std::uint64_t hash() const;
  // Equal for whole searches, of any bandwidth, in which as much fits on all links and NETs.
  std::uint64_t searchHash() const;
  // True if searches of equal searchHash() also try GPUs in the same order: all GPUs' PCI links have the same
  // bandwidth free, and units of it are whole GB/s, so GPUs rank by the number of units taken, of whatever
  // size.
  bool ranksAlike() const;

 private:
  bool isExact(Pattern pattern, const ChannelLoads& loads) const;

  const SearchSpace& space_;
  const UsableRoutes& routes_;
  // A channel's bandwidth inside the host and to the NETs: in thousandths of a GB/s, and in GB/s.
  std::uint32_t intra_, inter_;
  float bwIntra_, bwInter_;
  bool oneBandwidth_;  // the two are equal, or there are no NETs
  bool exact_;
};

}  // namespace xylem::search
