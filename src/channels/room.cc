#include "channels/room.h"

#include <array>
#include <bit>
#include <numeric>

#include "channels/explored.h"

namespace xylem {
namespace {

// Of so many free measures, how many amounts of 5 and 6 measures can fill. From 20 on all.
constexpr std::array<std::uint8_t, 20> kFilledByFiveAndSix = {0,  0,  0,  0,  0,  5,  6,  6,  6,  6,
                                                              10, 11, 12, 12, 12, 15, 16, 17, 18, 18};
// Thousandths are counted in 80ths, as half of a share may be.
constexpr std::uint64_t kUnits = 2 * kShareUnits[0];

}  // namespace

Room::Room(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted)
    : space_(space),
      intra_(space.intraLoad(wanted.bwIntra)),
      inter_(space.interLoad(wanted.bwInter)),
      interHalf_(space.interLoad(wanted.bwInter / 2)),
      balanced_(wanted.pattern == Pattern::kBalancedTree),
      bwIntra_(wanted.bwIntra),
      bwInter_(wanted.bwInter),
      oneBandwidth_(space.netCount() == 0 || wanted.bwIntra == wanted.bwInter) {
  // Heads of NVLS and CollNet channels take other shares.
  if (wanted.pattern == Pattern::kNvls || wanted.pattern == Pattern::kCollnetDirect) return;
  traceless_ = isTraceless(terrain);
  if (!traceless_) return;
  links_.reserve(terrain.usedLinks().size());
  for (const Terrain::UsedLink& used : terrain.usedLinks()) add(used);
}

bool Room::isTraceless(const Terrain& terrain) const {
  if (!intra_.exact() || !terrain.traceless() || !space_.uniformLatency()) return false;
  return space_.netCount() == 0 || (inter_.exact() && (!balanced_ || interHalf_.exact()));
}

void Room::add(const Terrain::UsedLink& used) {
  Links& link = links_.emplace_back();
  link.link = used.link;
  link.weight = hashWeight(static_cast<std::uint64_t>(used.link));
  const bool both = used.intraShares != 0 && used.interShares != 0;
  if (both && !oneBandwidth_) {
    link.divisor = kUnits;  // two bandwidths on one link have no measure: thousandths
    return;
  }
  std::uint64_t measure = 0;
  unsigned amounts = 0;
  const auto addShares = [&](unsigned shares, std::uint64_t units) {
    for (std::size_t i = 0; i < kShares; ++i)
      if ((shares >> i & 1u) != 0) measure = std::gcd(measure, kShareUnits[i] * units);
    amounts |= shares;
  };
  addShares(used.intraShares, 2);
  addShares(used.interShares, 2);
  const bool halved = balanced_ && used.interShares != 0;
  if (halved) addShares(used.interShares, 1);
  link.coarse = amounts == (bit(Share::kWhole) | bit(Share::kPci)) && !halved;
  const Load& load = used.intraShares != 0 ? intra_ : inter_;
  link.divisor = static_cast<std::uint32_t>(static_cast<std::uint64_t>(load.milli(Share::kWhole)) * measure);
}

std::uint64_t Room::hash() const {
  std::uint64_t hash = 0;
  for (const Links& link : links_) {
    const auto free = static_cast<std::uint32_t>(space_.free().milliOf(link.link));
    std::uint32_t measures = free * static_cast<std::uint32_t>(kUnits) / link.divisor;
    if (link.coarse && measures < kFilledByFiveAndSix.size()) measures = kFilledByFiveAndSix[measures];
    hash += link.weight * measures;
  }
  return hash;
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
