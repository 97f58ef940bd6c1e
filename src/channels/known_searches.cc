#include "channels/known_searches.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "channels/search.h"

namespace xylem {
namespace {

// The amounts that routes take of a link, as multiples of 1/80 of a channel's bandwidth.
class Amounts {
 public:
  void add(unsigned shares, std::uint64_t unitsPerShare) {
    for (std::size_t i = 0; i < kShares; ++i)
      if ((shares >> i & 1u) != 0) add(kShareUnits[i] * unitsPerShare);
  }
  // The most that can be used up of what is free, as a multiple of the amounts' common measure: two links
  // that agree in it have room for the same sums of amounts.
  std::uint64_t usable(std::uint64_t free) const {
    const std::uint64_t room = free / measure_;
    const std::uint64_t a = smallest_ / measure_;
    const std::uint64_t b = largest_ / measure_;
    if (a == 1 || count_ != 2) return room;
    for (std::uint64_t sum = room; sum > 0 && room - sum < a; --sum)
      for (std::uint64_t bs = 0; bs <= sum; bs += b)
        if ((sum - bs) % a == 0) return sum;
    return 0;
  }

 private:
  void add(std::uint64_t amount) {
    smallest_ = count_ == 0 ? amount : std::min(smallest_, amount);
    largest_ = std::max(largest_, amount);
    measure_ = std::gcd(measure_, amount);
    ++count_;
  }
  std::uint64_t measure_ = 0, smallest_ = 0, largest_ = 0;
  int count_ = 0;
};

std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

std::uint64_t hashOfFree(const SearchSpace& space, const ChannelGraph& wanted, std::uint64_t hash) {
  hash = mixHash(hash, space.freeHash());
  return mixHash(hash, bits(wanted.bwIntra) << 32 | bits(wanted.bwInter));
}

std::uint64_t hashOfRoom(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted,
                         std::uint64_t hash) {
  const Load intra = space.intraLoad(wanted.bwIntra);
  const Load inter = space.interLoad(wanted.bwInter);
  const bool balanced = wanted.pattern == Pattern::kBalancedTree;
  for (const Terrain::UsedLink& link : terrain.usedLinks()) {
    const std::int32_t free = space.free().milliOf(link.link);
    const Load& load = link.intraShares != 0 ? intra : inter;
    Amounts amounts;
    amounts.add(link.intraShares, 2);
    amounts.add(link.interShares, 2);
    if (balanced) amounts.add(link.interShares, 1);
    const auto one = static_cast<std::uint64_t>(load.milli(Share::kWhole));
    hash = mixHash(hash, amounts.usable(static_cast<std::uint64_t>(free) * 2 * kShareUnits[0] / one));
  }
  const auto demand = static_cast<float>(static_cast<int>(wanted.bwInter));
  for (int net = 0; net < space.netCount(); ++net) {
    // All of these are exact: whole numbers, and what is left of the NET's bandwidth after them.
    int channels = 0;
    for (float left = space.netBandwidth(net); left >= demand && channels <= kMaxChannels; left -= demand)
      ++channels;
    hash = mixHash(
        hash, static_cast<std::uint64_t>(channels) << 1 | (space.nearestBandwidth(net) >= demand ? 1u : 0u));
  }
  return hash;
}

}  // namespace

std::uint64_t searchKey(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted) {
  const Terrain::Limits& limits = terrain.limits();
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t hash = number(limits.intra) | number(limits.inter) << 4 | number(limits.pattern) << 8 |
                             number(wanted.crossNic) << 12 | number(wanted.sameChannels) << 16 |
                             number(wanted.maxChannels) << 20;
  const bool rankedByFree = space.netCount() > 0 && !space.hasNvs();
  const bool oneBandwidth = space.netCount() == 0 || wanted.bwIntra == wanted.bwInter;
  if (rankedByFree || !oneBandwidth || !Search::isTraceless(space, terrain, wanted))
    return hashOfFree(space, wanted, mixHash(1, hash));
  return hashOfRoom(space, terrain, wanted, mixHash(2, hash));
}

}  // namespace xylem
