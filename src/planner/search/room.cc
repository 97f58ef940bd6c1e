#include "planner/search/room.h"

#include <array>
#include <bit>

#include "planner/search/explored.h"

namespace xylem {
namespace {

// Of so many free measures, how many amounts of 5 and 6 measures can fill. From 20 on all.
constexpr std::array<std::uint8_t, 20> kFilledByFiveAndSix = {0,  0,  0,  0,  0,  5,  6,  6,  6,  6,
                                                              10, 11, 12, 12, 12, 15, 16, 17, 18, 18};
// Thousandths are counted in 80ths, as half of a share may be.
constexpr std::uint32_t kUnits = 2 * kShareUnits[0];

}  // namespace

Room::Room(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted)
    : space_(space),
      terrain_(terrain),
      intra_(space.intraLoad(wanted.bwIntra)),
      inter_(space.interLoad(wanted.bwInter)),
      bwIntra_(wanted.bwIntra),
      bwInter_(wanted.bwInter),
      oneBandwidth_(space.netCount() == 0 || wanted.bwIntra == wanted.bwInter) {
  if (wanted.pattern == Pattern::kBalancedTree) interHalf_ = space.interLoad(wanted.bwInter / 2);
  traceless_ = isTraceless(wanted.pattern);
}

bool Room::isTraceless(Pattern pattern) const {
  // Heads of NVLS and CollNet channels take other shares.
  if (pattern == Pattern::kNvls || pattern == Pattern::kCollnetDirect) return false;
  if (!intra_.exact() || !terrain_.traceless() || !space_.uniformLatency()) return false;
  return space_.netCount() == 0 ||
         (inter_.exact() && (pattern != Pattern::kBalancedTree || interHalf_.exact()));
}

std::uint64_t Room::hash() const {
  const auto intra = static_cast<std::uint32_t>(intra_.milli(Share::kWhole));
  const auto inter = static_cast<std::uint32_t>(inter_.milli(Share::kWhole));
  std::uint64_t hash = 0;
  for (const Terrain::UsedLink& used : terrain_.usedLinks()) {
    auto room = static_cast<std::uint32_t>(space_.free().milliOf(used.link));
    const std::uint32_t bandwidth = used.intraShares != 0 ? intra : inter;
    if (oneBandwidth_ || used.intraShares == 0 || used.interShares == 0) {
      room = room * kUnits / (bandwidth * used.measure);
      if (used.byFiveAndSix && room < kFilledByFiveAndSix.size()) room = kFilledByFiveAndSix[room];
    }  // two bandwidths on one link have no measure: thousandths
    hash += used.weight * room;
  }
  return hash;
}

bool Room::ranksAlike() const {
  if (space_.netCount() == 0 || space_.hasNvs()) return true;  // GPUs are not ranked by what is free
  if (!traceless_ || !oneBandwidth_) return false;
  constexpr std::uint64_t kWholeGBps = 1000;
  const std::uint64_t measure =
      std::uint64_t{terrain_.pciMeasure()} * static_cast<std::uint64_t>(intra_.milli(Share::kWhole));
  if (terrain_.pciMeasure() != 0 && measure < kWholeGBps * kUnits) return false;
  std::int32_t free = -1;
  for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
    const auto [out, back] = space_.pciLinks(gpu);
    for (LinkId link : {out, back}) {
      if (link == kNoLink) continue;
      const std::int32_t here = space_.free().milliOf(link);
      if (here == FreeBandwidth::kOdd || (free >= 0 && here != free)) return false;
      free = here;
    }
  }
  return true;
}

std::uint64_t Room::searchHash() const {
  const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  std::uint64_t hash =
      oneBandwidth_ ? this->hash() : mixHash(this->hash(), bits(bwIntra_) << 32 | bits(bwInter_));
  const auto demand = static_cast<float>(static_cast<int>(bwInter_));
  for (int net = 0; net < space_.netCount(); ++net) {
    // All of these are exact: whole numbers, and what is left of the NET's bandwidth after them.
    int channels = 0;
    for (float left = space_.netBandwidth(net); left >= demand && channels <= kMaxChannels; left -= demand)
      ++channels;
    hash = mixHash(
        hash, static_cast<std::uint64_t>(channels) << 1 | (space_.nearestBandwidth(net) >= demand ? 1u : 0u));
  }
  return hash;
}

}  // namespace xylem
