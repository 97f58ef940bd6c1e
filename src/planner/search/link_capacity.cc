#include "planner/search/link_capacity.h"

#include <array>
#include <bit>

#include "planner/search/search_memo.h"

namespace xylem::search {
namespace {

// By free units: how many of them amounts of 5 and 6 units can fill. From 20 units on, all.
constexpr std::array<std::uint8_t, 20> kFilledByFiveAndSix = {0,  0,  0,  0,  0,  5,  6,  6,  6,  6,
                                                              10, 11, 12, 12, 12, 15, 16, 17, 18, 18};
// The whole of a channel's bandwidth in units of UsableRoutes::LinkUse: 80.
constexpr std::uint32_t kWholeUnits = 2 * kShareUnits[0];

}  // namespace

LinkCapacity::LinkCapacity(const SearchSpace& space, const UsableRoutes& routes, const ChannelGraph& wanted,
                           const ChannelLoads& loads)
    : space_(space),
      routes_(routes),
      intra_(static_cast<std::uint32_t>(loads.of(Portion::kIntra).milli(Share::kWhole))),
      inter_(static_cast<std::uint32_t>(loads.of(Portion::kInter).milli(Share::kWhole))),
      bwIntra_(wanted.bwIntra),
      bwInter_(wanted.bwInter),
      oneBandwidth_(space.netCount() == 0 || wanted.bwIntra == wanted.bwInter),
      exact_(isExact(wanted.pattern, loads)) {}

bool LinkCapacity::isExact(Pattern pattern, const ChannelLoads& loads) const {
  // Heads of NVLS and CollNet channels take other portions.
  if (pattern == Pattern::kNvls || pattern == Pattern::kCollnetDirect) return false;
  if (!loads.of(Portion::kIntra).exact() || !routes_.exact() || !space_.uniformLatency()) return false;
  return space_.netCount() == 0 ||
         (loads.of(Portion::kInter).exact() &&
          (pattern != Pattern::kBalancedTree || loads.of(Portion::kInterHalf).exact()));
}

std::uint64_t LinkCapacity::hash() const {
  std::uint64_t hash = 0;
  for (const UsableRoutes::LinkUse& use : routes_.linkUses()) {
    auto free = static_cast<std::uint32_t>(space_.free().milliOf(use.link));
    const std::uint32_t bandwidth = use.intraShares != 0 ? intra_ : inter_;
    if (oneBandwidth_ || use.intraShares == 0 || use.interShares == 0) {
      free = free * kWholeUnits / (bandwidth * use.unit);
      if (use.byFiveAndSix && free < kFilledByFiveAndSix.size()) free = kFilledByFiveAndSix[free];
    }  // else two bandwidths share the link: they have no unit in common but thousandths
    hash += use.weight * free;
  }
  return hash;
}

bool LinkCapacity::ranksAlike() const {
  if (space_.netCount() == 0 || space_.hasNvs()) return true;  // free bandwidth does not rank GPUs
  if (!exact_ || !oneBandwidth_) return false;
  constexpr std::uint64_t kWholeGBps = 1000;
  const std::uint64_t unit = std::uint64_t{routes_.pciUnit()} * intra_;
  if (routes_.pciUnit() != 0 && unit < kWholeGBps * kWholeUnits) return false;
  std::int32_t free = -1;  // of all PCI links
  for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
    const auto [out, back] = space_.pciLinks(gpu);
    for (topology::LinkId link : {out, back}) {
      if (link == topology::kNoLink) continue;
      const std::int32_t here = space_.free().milliOf(link);
      if (here == FreeBandwidth::kOdd || (free >= 0 && here != free)) return false;
      free = here;
    }
  }
  return true;
}

std::uint64_t LinkCapacity::searchHash() const {
  const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  std::uint64_t hash =
      oneBandwidth_ ? this->hash() : mixHash(this->hash(), bits(bwIntra_) << 32 | bits(bwInter_));
  const auto demand = static_cast<float>(static_cast<int>(bwInter_));
  for (int net = 0; net < space_.netCount(); ++net) {
    // How many channels fit. The subtractions are exact: of whole numbers, and of what they leave.
    int channels = 0;
    for (float left = space_.netBandwidth(net); left >= demand && channels <= paths::kMaxChannels;
         left -= demand)
      ++channels;
    hash = mixHash(
        hash, static_cast<std::uint64_t>(channels) << 1 | (space_.nearestBandwidth(net) >= demand ? 1u : 0u));
  }
  return hash;
}

}  // namespace xylem::search
