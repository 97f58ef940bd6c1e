#pragma once
// The routes of a host that a search may use when its paths must not reach beyond some types, the GPUs to try
// behind each GPU, and how these routes use links.
//
//   UsableRoutesByLimits all(space);
//   const UsableRoutes& routes = all.of({PathType::kNvl, PathType::kPix, Pattern::kRing});
//   for (const NextGpu& next : routes.nextGpus(gpu)) ... next.gpu, *next.route ...
//
// The search itself needs usable() and nextGpus(). The rest says which states of a search are equal
// (link_capacity.h, search_shortcuts.cc).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "planner/search/channel_graph.h"
#include "planner/search/search_space.h"

namespace xylem::search {

// A GPU that a channel may go on to.
struct NextGpu {
  int gpu = 0;
  const Route* route = nullptr;  // to it
  std::span<const RouteStep> steps;
  mutable std::size_t fullStep = 0;  // a hint: the step whose link was short of bandwidth last
};

class UsableRoutes {
 public:
  // Paths up to these types, for this kind of channel.
  struct Limits {
    paths::PathType intra = paths::PathType::kLoc;
    paths::PathType inter = paths::PathType::kLoc;
    Pattern pattern = Pattern::kRing;
    bool operator==(const Limits&) const = default;
  };

  UsableRoutes(const SearchSpace& space, const Limits& limits);

  const Limits& limits() const { return limits_; }
  bool usable(const Route& route) const { return usable_[static_cast<std::size_t>(route.id)] != 0; }
  // The GPUs a channel may go on to from `gpu`, best first as far as that does not depend on free bandwidth.
  std::span<const NextGpu> nextGpus(int gpu) const {
    const auto i = static_cast<std::size_t>(gpu);
    return std::span(next_).subspan(firstNext_[i], firstNext_[i + 1] - firstNext_[i]);
  }

  // A link is a GPU's own if only routes from this GPU use it, or only routes to this GPU. A channel leaves
  // and enters each GPU once, so what it took of own links does not matter to the rest of it. This is a
  // hash of what a route takes of all other links.
  std::uint64_t sharedWeight(const Route& route) const {
    return sharedWeight_[static_cast<std::size_t>(route.id)];
  }
  // True if routes from GPU to GPU use own links only.
  bool usesOwnLinksOnly() const { return usesOwnLinksOnly_; }
  // True if no route from GPU to GPU uses the PCI links that GPUs are ranked by.
  bool sparesPciLinks() const { return sparesPciLinks_; }
  // The unit of those PCI links, as in LinkUse; 0 if no route uses them.
  std::uint32_t pciUnit() const { return pciUnit_; }

  // A link of usable routes. All amounts that routes take of it are multiples of its unit, which is counted
  // in 80ths of a channel's bandwidth.
  struct LinkUse {
    topology::LinkId link = topology::kNoLink;
    unsigned intraShares = 0, interShares = 0;  // taken inside the host and to or from NETs: a bit each
    std::uint32_t unit = 0;
    bool byFiveAndSix = false;  // taken by 5 or 6 units at a time
    std::uint64_t weight = 0;   // in hashes
  };
  std::span<const LinkUse> linkUses() const { return linkUses_; }
  // True if exact loads on these routes are taken and given back without a trace: no route takes from a link
  // twice, and all links have whole thousandths free.
  bool exact() const;

 private:
  void findUsable();
  void listNext();
  void findLinkUses();
  void findSharedLinks();
  void setUnit(LinkUse& use) const;

  const SearchSpace& space_;
  Limits limits_;
  std::vector<std::uint8_t> usable_;         // by route
  std::vector<std::uint64_t> sharedWeight_;  // by route
  std::vector<NextGpu> next_;
  std::vector<std::size_t> firstNext_;  // by GPU, and the end
  std::vector<LinkUse> linkUses_;
  bool sparesPciLinks_ = true;
  std::uint32_t pciUnit_ = 0;
  bool usesOwnLinksOnly_ = true;
  bool repeats_ = false;  // some route takes from a link twice
};

// The usable routes of a host by limits, made when first asked for.
//
// Limits are first lowered to the farthest type that occurs, so equal routes have equal limits. Patterns do
// not differ either where all paths back are as far as those there, without NETs and NVSwitches.
class UsableRoutesByLimits {
 public:
  explicit UsableRoutesByLimits(const SearchSpace& space);
  const UsableRoutes& of(UsableRoutes::Limits limits);

 private:
  const SearchSpace& space_;
  unsigned intraTypes_ = 0, interTypes_ = 0;  // that occur: a bit each
  bool patternsAlike_ = true;
  std::vector<std::unique_ptr<UsableRoutes>> made_;
};

}  // namespace xylem::search
