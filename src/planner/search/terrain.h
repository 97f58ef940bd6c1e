#pragma once
// A host as a search sees it whose paths may be no farther than some type: which routes are open, which GPUs
// to try behind a GPU, and what of the free bandwidth still matters while a channel is being built.
//
//   Terrains terrains(space);
//   const Terrain& terrain = terrains.of({PathType::kNvl, PathType::kPix, Pattern::kRing});
//   for (const Way& way : terrain.behind(gpu)) ... way.gpu ...
//
// A type that no path has changes nothing, so limits are first lowered to the farthest type that occurs; and
// where the way back is always as far as the way there, without NETs and NVSwitches, all patterns see the same.
// Searches with the same terrain see the same host.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "planner/search/channel_graph.h"
#include "planner/search/search_space.h"

namespace xylem {

// From one GPU to a next one.
struct Way {
  std::int32_t gpu = 0;
  std::int16_t steps = 0, hops = 0;
  const RouteStep* first = nullptr;
  std::uint64_t sharedWeight = 0;    // as of its route
  std::uint64_t gpuWeight = 0;       // of `gpu` in hashes of sets of GPUs
  std::uint32_t pathKey = 0;         // as of the space
  mutable std::int16_t weakest = 0;  // the step that was short of bandwidth last: where to look first
};

class Terrain {
 public:
  // Paths up to these types, of this kind of channel.
  struct Limits {
    PathType intra = PathType::kLoc;
    PathType inter = PathType::kLoc;
    Pattern pattern = Pattern::kRing;
    bool operator==(const Limits&) const = default;
  };

  Terrain(const SearchSpace& space, const Limits& limits);

  const Limits& limits() const { return limits_; }
  bool open(const Route& route) const { return open_[static_cast<std::size_t>(route.id)] != 0; }
  // The GPUs a channel may go on to from `gpu`, best first as far as that does not depend on what is free.
  std::span<const Way> behind(int gpu) const {
    const auto i = static_cast<std::size_t>(gpu);
    return std::span(behind_).subspan(firstBehind_[i], firstBehind_[i + 1] - firstBehind_[i]);
  }

  // A link is a GPU's own if only routes from this GPU use it, or only routes to this GPU. A channel leaves
  // each GPU once and enters it once, so what it took of own links does not matter to the rest of it. This is
  // the part of a route's weight that lies on other links.
  std::uint64_t sharedWeight(const Route& route) const {
    return sharedWeight_[static_cast<std::size_t>(route.id)];
  }

  // Going from GPU to GPU takes of own links only.
  bool takesOwnOnly() const { return takesOwnOnly_; }
  // Going from GPU to GPU takes nothing of the PCI links that GPUs are ranked by.
  bool sparesPci() const { return sparesPci_; }
  // The common measure of all that open routes take of those links, in 80ths of a channel's bandwidth; 0:
  // nothing.
  std::uint32_t pciMeasure() const { return pciMeasure_; }

  // A link of open routes. What these take of it are multiples of `measure` 80ths of a channel's bandwidth.
  struct UsedLink {
    LinkId link = kNoLink;
    unsigned intraShares = 0, interShares = 0;  // taken inside the host and to or from NETs: a bit each
    std::uint32_t measure = 0;
    bool byFiveAndSix = false;  // by 5 or 6 measures at a time
    std::uint64_t weight = 0;   // in hashes
  };
  std::span<const UsedLink> usedLinks() const { return usedLinks_; }
  // Taking and giving back exact loads on open routes leaves no trace: no link is taken from twice, all have
  // whole thousandths free.
  bool traceless() const;

 private:
  void openRoutes();
  void listNext();
  void findOwnLinks();
  void measure(UsedLink& used) const;

  const SearchSpace& space_;
  Limits limits_;
  std::vector<std::uint8_t> open_;  // by route
  std::vector<std::uint64_t> sharedWeight_;
  std::vector<Way> behind_;
  std::vector<std::size_t> firstBehind_;  // by GPU, and the end
  std::vector<UsedLink> usedLinks_;
  bool sparesPci_ = true;
  std::uint32_t pciMeasure_ = 0;
  bool takesOwnOnly_ = true;
  bool repeats_ = false;  // an open route takes from a link twice
};

// The terrains of a host, made when first asked for.
class Terrains {
 public:
  explicit Terrains(const SearchSpace& space);
  const Terrain& of(Terrain::Limits limits);

 private:
  const SearchSpace& space_;
  unsigned intraTypes_ = 0, interTypes_ = 0;  // that occur: a bit each
  bool patternsAlike_ = true;
  std::vector<std::unique_ptr<Terrain>> made_;
};

}  // namespace xylem
