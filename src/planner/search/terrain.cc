#include "planner/search/terrain.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace xylem {
namespace {

constexpr int kNone = -1;  // no route yet
constexpr int kMany = -2;  // routes of several GPUs, or NETs

std::size_t id(const Route& route) { return static_cast<std::size_t>(route.id); }

void mark(int& owner, int gpu) { owner = owner == kNone || owner == gpu ? gpu : kMany; }

PathType farthestUpTo(PathType limit, unsigned types) {
  const unsigned within = types & ((2u << static_cast<unsigned>(limit)) - 1);
  return within == 0 ? PathType::kLoc : static_cast<PathType>(std::bit_width(within) - 1);
}

}  // namespace

Terrain::Terrain(const SearchSpace& space, const Limits& limits)
    : space_(space), limits_(limits), open_(space.routeCount()), sharedWeight_(space.routeCount()) {
  openRoutes();
  findOwnLinks();
  listNext();
}

// Trees send both ways, so they look at the way back as well.
void Terrain::openRoutes() {
  const bool bothWays = limits_.pattern == Pattern::kBalancedTree || limits_.pattern == Pattern::kSplitTree ||
                        limits_.pattern == Pattern::kTree;
  for (std::size_t i = 0; i < space_.routeCount(); ++i) {
    const Route& route = space_.route(i);
    const PathType limit = route.intra ? limits_.intra : limits_.inter;
    open_[i] = route.type <= limit && (!bothWays || route.reverseType <= limit) ? 1 : 0;
    repeats_ |= open_[i] != 0 && route.repeats;
  }
}

void Terrain::listNext() {
  const int gpus = space_.gpuCount();
  const auto consider = [&](int gpu, int next) {
    const Route& route = space_.gpuToGpu(gpu, next);
    if (route.hops > 0 && open(route))
      behind_.push_back({next, route.steps, route.hops, space_.stepsOf(route).data(),
                         sharedWeight_[id(route)], space_.gpuWeight(next), space_.pathKey(gpu, next)});
  };
  if (!space_.hasNvs()) behind_.reserve(static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus));
  firstBehind_.push_back(0);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    if (!space_.hasNvs()) {
      for (int next : space_.gpusByPath(gpu)) consider(gpu, next);
    } else {
      // Behind an NVSwitch all GPUs are alike: only the neighbours by index are tried.
      const int before = (gpu + gpus - 1) % gpus;
      const int after = (gpu + 1) % gpus;
      const bool ring = limits_.pattern == Pattern::kRing;
      const bool bothSides =
          ring || limits_.pattern == Pattern::kSplitTree || limits_.pattern == Pattern::kBalancedTree;
      consider(gpu, ring ? before : after);
      if (bothSides && before != after) consider(gpu, ring ? after : before);
    }
    firstBehind_.push_back(behind_.size());
  }
}

void Terrain::findOwnLinks() {
  struct Owner {
    int from = kNone, to = kNone;
  };
  std::vector<Owner> owners(space_.system().links().size());
  std::vector<UsedLink> used(owners.size());
  const auto owner = [&](const RouteStep& step) -> Owner& {
    return owners[static_cast<std::size_t>(step.link)];
  };
  const auto visit = [&](const Route& route, int from, int to) {
    if (!open(route)) return;
    for (const RouteStep& step : space_.stepsOf(route)) {
      UsedLink& link = used[static_cast<std::size_t>(step.link)];
      link.link = step.link;
      (route.intra ? link.intraShares : link.interShares) |= bit(step.share);
      if (from == kMany) continue;  // how a channel starts: before all the rest of it
      mark(owner(step).from, from);
      mark(owner(step).to, to);
    }
  };
  for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
    for (int to = 0; to < space_.gpuCount(); ++to) visit(space_.gpuToGpu(gpu, to), gpu, to);
    for (int net = 0; net < space_.netCount(); ++net) {
      visit(space_.gpuToNet(gpu, net), gpu, kMany);
      visit(space_.netToGpu(net, gpu), kMany, gpu);
    }
  }
  for (UsedLink& link : used) {
    if (link.link == kNoLink) continue;
    measure(link);
    usedLinks_.push_back(link);
  }
  for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
    const auto [out, back] = space_.pciLinks(gpu);
    for (LinkId link : {out, back}) {
      if (link == kNoLink) continue;
      sparesPci_ &= used[static_cast<std::size_t>(link)].intraShares == 0;
      pciMeasure_ = std::gcd(pciMeasure_, used[static_cast<std::size_t>(link)].measure);
    }
  }
  const bool sharesAny = std::any_of(owners.begin(), owners.end(),
                                     [](const Owner& o) { return o.from == kMany && o.to == kMany; });
  for (std::size_t i = 0; sharesAny && i < open_.size(); ++i) {
    if (open_[i] == 0) continue;
    const Route& route = space_.route(i);
    for (const RouteStep& step : space_.stepsOf(route)) {
      if (owner(step).from != kMany || owner(step).to != kMany) continue;
      sharedWeight_[i] += hashWeight(static_cast<std::uint64_t>(step.link)) *
                          kShareUnits[static_cast<std::size_t>(step.share)];
      takesOwnOnly_ &= !route.intra;
    }
  }
}

void Terrain::measure(UsedLink& used) const {
  const auto add = [&](unsigned shares, std::uint64_t units) {
    for (std::size_t i = 0; i < kShares; ++i)
      if ((shares >> i & 1u) != 0)
        used.measure = std::gcd(used.measure, static_cast<std::uint32_t>(kShareUnits[i] * units));
  };
  add(used.intraShares | used.interShares, 2);
  const bool halved = limits_.pattern == Pattern::kBalancedTree && used.interShares != 0;
  if (halved) add(used.interShares, 1);
  used.byFiveAndSix =
      !halved && (used.intraShares | used.interShares) == (bit(Share::kWhole) | bit(Share::kPci));
  used.weight = hashWeight(static_cast<std::uint64_t>(used.link));
}

bool Terrain::traceless() const {
  if (repeats_) return false;
  if (!space_.free().anyOdd()) return true;
  for (const UsedLink& used : usedLinks_)
    if (space_.free().milliOf(used.link) == FreeBandwidth::kOdd) return false;
  return true;
}

Terrains::Terrains(const SearchSpace& space)
    : space_(space), patternsAlike_(!space.hasNvs() && space.netCount() == 0) {
  for (std::size_t i = 0; i < space.routeCount(); ++i) {
    const Route& route = space.route(i);
    (route.intra ? intraTypes_ : interTypes_) |= 1u << static_cast<unsigned>(route.type);
    patternsAlike_ &= route.type == route.reverseType;
  }
}

const Terrain& Terrains::of(Terrain::Limits limits) {
  limits.intra = farthestUpTo(limits.intra, intraTypes_);
  limits.inter = farthestUpTo(limits.inter, interTypes_);
  if (patternsAlike_) limits.pattern = Pattern::kRing;
  for (const auto& terrain : made_)
    if (terrain->limits() == limits) return *terrain;
  return *made_.emplace_back(std::make_unique<Terrain>(space_, limits));
}

}  // namespace xylem
