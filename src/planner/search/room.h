#pragma once
// How much room the routes of one search have: what is free on each link, counted in what can be used up of
// it.
//
//   Room room(space, terrain, wanted);
//   if (room.traceless()) state = room.hash();
//
// All amounts that a search takes of a link are whole multiples of a measure, so all that matters of the free
// bandwidth is how many measures fit, and of these only as many as sums of amounts can fill: with 10 and 12
// to be taken, 14 free are as good as 12. States with the same room allow the same sequences of routes. The
// order in which GPUs are tried may still differ (what is free ranks them too), but not what there is to try:
// explorations that come to their end take the same steps and complete the same.

#include <cstdint>

#include "planner/search/search_space.h"
#include "planner/search/terrain.h"

namespace xylem {

class Room {
 public:
  Room(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted);

  // All that the search takes and gives back is exact: it leaves the free bandwidths as it found them, and no
  // NET leaves a latency that another has not. Otherwise there is no counting, and no hash.
  bool traceless() const { return traceless_; }
  // Equal for states with the same room on the links, as long as the search's bandwidths are the same.
  std::uint64_t hash() const;
  // Also equal for searches of other bandwidths with the same room, NETs included.
  std::uint64_t searchHash() const;

  // Searches of the same searchHash() rank GPUs alike, too: all GPUs' PCI links have the same bandwidth free,
  // and what is taken of them differs by whole GB/s, so they rank by how many measures were taken, whatever a
  // measure is.
  bool ranksAlike() const;

  // What one channel takes inside the host and to and from NETs; half of the latter.
  const Load& intra() const { return intra_; }
  const Load& inter() const { return inter_; }
  const Load& interHalf() const { return interHalf_; }

 private:
  bool isTraceless(Pattern pattern) const;

  const SearchSpace& space_;
  const Terrain& terrain_;
  Load intra_, inter_, interHalf_;
  float bwIntra_, bwInter_;
  bool oneBandwidth_;  // inside the host and to the NETs
  bool traceless_;
};

}  // namespace xylem
