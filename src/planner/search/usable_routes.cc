#include "planner/search/usable_routes.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "planner/search/search_memo.h"

namespace xylem::search {
namespace {

std::size_t id(const Route& route) { return static_cast<std::size_t>(route.id); }

bool isTree(Pattern pattern) {
  return pattern == Pattern::kBalancedTree || pattern == Pattern::kSplitTree || pattern == Pattern::kTree;
}

// The GPUs whose routes use a link, as far as that matters: none, a single one, or several.
class LinkOwner {
 public:
  void add(int gpu) { gpu_ = gpu_ == kNone || gpu_ == gpu ? gpu : kSeveral; }
  void addSeveral() { gpu_ = kSeveral; }
  bool several() const { return gpu_ == kSeveral; }

 private:
  static constexpr int kNone = -1;
  static constexpr int kSeveral = -2;
  int gpu_ = kNone;
};

paths::PathType farthestUpTo(paths::PathType limit, unsigned types) {
  const unsigned within = types & ((2u << static_cast<unsigned>(limit)) - 1);
  return within == 0 ? paths::PathType::kLoc : static_cast<paths::PathType>(std::bit_width(within) - 1);
}

}  // namespace

UsableRoutes::UsableRoutes(const SearchSpace& space, const Limits& limits)
    : space_(space), limits_(limits), usable_(space.routes().size()), sharedWeight_(space.routes().size()) {
  findUsable();
  listNext();
  findLinkUses();
  findSharedLinks();
}

// Trees send both ways, so the path back has to be as near.
void UsableRoutes::findUsable() {
  const bool bothWays = isTree(limits_.pattern);
  for (const Route& route : space_.routes()) {
    const paths::PathType limit = route.intra ? limits_.intra : limits_.inter;
    const bool usable = route.type <= limit && (!bothWays || route.reverseType <= limit);
    usable_[id(route)] = usable ? 1 : 0;
    repeats_ |= usable && route.repeats;
  }
}

void UsableRoutes::listNext() {
  const int gpus = space_.gpuCount();
  const auto add = [&](int gpu, int next) {
    const Route& route = space_.gpuToGpu(gpu, next);
    if (route.hops > 0 && usable(route)) next_.push_back({next, &route, space_.stepsOf(route), 0});
  };
  if (!space_.hasNvs()) next_.reserve(static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus));
  firstNext_.push_back(0);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    if (!space_.hasNvs()) {
      for (int next : space_.gpusByPath(gpu)) add(gpu, next);
    } else {
      // Behind an NVSwitch all GPUs are alike: only the neighbours by index are tried.
      const int before = (gpu + gpus - 1) % gpus;
      const int after = (gpu + 1) % gpus;
      const bool ring = limits_.pattern == Pattern::kRing;
      const bool bothSides =
          ring || limits_.pattern == Pattern::kSplitTree || limits_.pattern == Pattern::kBalancedTree;
      add(gpu, ring ? before : after);
      if (bothSides && before != after) add(gpu, ring ? after : before);
    }
    firstNext_.push_back(next_.size());
  }
}

// Lists the links of all usable routes that channels of rings and trees take, with the shares taken of them.
void UsableRoutes::findLinkUses() {
  std::vector<LinkUse> uses(space_.system().links().size());
  const auto add = [&](const Route& route) {
    if (!usable(route)) return;
    for (const RouteStep& step : space_.stepsOf(route)) {
      LinkUse& use = uses[static_cast<std::size_t>(step.link)];
      use.link = step.link;
      (route.intra ? use.intraShares : use.interShares) |= bit(step.share);
    }
  };
  for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
    for (int to = 0; to < space_.gpuCount(); ++to) add(space_.gpuToGpu(gpu, to));
    for (int net = 0; net < space_.netCount(); ++net) {
      add(space_.gpuToNet(gpu, net));
      add(space_.netToGpu(net, gpu));
    }
  }
  for (LinkUse& use : uses) {
    if (use.link == topology::kNoLink) continue;
    setUnit(use);
    linkUses_.push_back(use);
  }
  for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
    const auto [out, back] = space_.pciLinks(gpu);
    for (topology::LinkId link : {out, back}) {
      if (link == topology::kNoLink) continue;
      sparesPciLinks_ &= uses[static_cast<std::size_t>(link)].intraShares == 0;
      pciUnit_ = std::gcd(pciUnit_, uses[static_cast<std::size_t>(link)].unit);
    }
  }
}

// The unit of a link is the largest amount of which all amounts taken are multiples.
void UsableRoutes::setUnit(LinkUse& use) const {
  const auto add = [&](unsigned shares, std::uint64_t eightieths) {
    for (std::size_t i = 0; i < kShares; ++i)
      if ((shares >> i & 1u) != 0)
        use.unit = std::gcd(use.unit, static_cast<std::uint32_t>(kShareUnits[i] * eightieths));
  };
  add(use.intraShares | use.interShares, 2);
  const bool halved = limits_.pattern == Pattern::kBalancedTree && use.interShares != 0;
  if (halved) add(use.interShares, 1);
  use.byFiveAndSix =
      !halved && (use.intraShares | use.interShares) == (bit(Share::kWhole) | bit(Share::kPci));
  use.weight = hashWeight(static_cast<std::uint64_t>(use.link));
}

// Finds the links that are no GPU's own. Routes from NETs do not count: they come before the rest of a
// channel.
void UsableRoutes::findSharedLinks() {
  struct Owners {
    LinkOwner from, to;
    bool shared() const { return from.several() && to.several(); }
  };
  std::vector<Owners> owners(space_.system().links().size());
  const auto ownersOf = [&](const RouteStep& step) -> Owners& {
    return owners[static_cast<std::size_t>(step.link)];
  };
  for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
    for (int to = 0; to < space_.gpuCount(); ++to) {
      const Route& route = space_.gpuToGpu(gpu, to);
      if (!usable(route)) continue;
      for (const RouteStep& step : space_.stepsOf(route)) {
        ownersOf(step).from.add(gpu);
        ownersOf(step).to.add(to);
      }
    }
    for (int net = 0; net < space_.netCount(); ++net) {
      const Route& route = space_.gpuToNet(gpu, net);
      if (!usable(route)) continue;
      for (const RouteStep& step : space_.stepsOf(route)) {
        ownersOf(step).from.add(gpu);
        ownersOf(step).to.addSeveral();
      }
    }
  }
  if (std::none_of(owners.begin(), owners.end(), [](const Owners& o) { return o.shared(); })) return;
  for (const Route& route : space_.routes()) {
    if (!usable(route)) continue;
    for (const RouteStep& step : space_.stepsOf(route)) {
      if (!ownersOf(step).shared()) continue;
      sharedWeight_[id(route)] += hashWeight(static_cast<std::uint64_t>(step.link)) *
                                  kShareUnits[static_cast<std::size_t>(step.share)];
      usesOwnLinksOnly_ &= !route.intra;
    }
  }
}

bool UsableRoutes::exact() const {
  if (repeats_) return false;
  if (!space_.free().anyOdd()) return true;
  return std::none_of(linkUses_.begin(), linkUses_.end(), [&](const LinkUse& use) {
    return space_.free().milliOf(use.link) == FreeBandwidth::kOdd;
  });
}

UsableRoutesByLimits::UsableRoutesByLimits(const SearchSpace& space)
    : space_(space), patternsAlike_(!space.hasNvs() && space.netCount() == 0) {
  for (const Route& route : space.routes()) {
    (route.intra ? intraTypes_ : interTypes_) |= 1u << static_cast<unsigned>(route.type);
    patternsAlike_ &= route.type == route.reverseType;
  }
}

const UsableRoutes& UsableRoutesByLimits::of(UsableRoutes::Limits limits) {
  limits.intra = farthestUpTo(limits.intra, intraTypes_);
  limits.inter = farthestUpTo(limits.inter, interTypes_);
  if (patternsAlike_) limits.pattern = Pattern::kRing;
  for (const auto& routes : made_)
    if (routes->limits() == limits) return *routes;
  return *made_.emplace_back(std::make_unique<UsableRoutes>(space_, limits));
}

}  // namespace xylem::search
