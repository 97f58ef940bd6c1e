#include "planner/search/known_searches.h"

#include <algorithm>
#include <bit>

#include "planner/search/explored.h"

namespace xylem {
namespace {

std::uint64_t askedFor(const Terrain& terrain, const ChannelGraph& wanted) {
  const Terrain::Limits& limits = terrain.limits();
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return number(limits.intra) | number(limits.inter) << 4 | number(wanted.pattern) << 8 |
         number(wanted.crossNic) << 12 | number(wanted.sameChannels) << 16 | number(wanted.maxChannels) << 20;
}

}  // namespace

std::uint64_t exactKey(const SearchSpace& space, const Terrain& terrain, const ChannelGraph& wanted) {
  const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  const std::uint64_t hash = mixHash(mixHash(1, askedFor(terrain, wanted)), space.freeHash());
  return mixHash(hash, bits(wanted.bwIntra) << 32 | bits(wanted.bwInter));
}

std::uint64_t roomKey(const Terrain& terrain, const Room& room, const ChannelGraph& wanted) {
  return mixHash(mixHash(2, askedFor(terrain, wanted)), room.searchHash());
}

const KnownSearches::Outcome* KnownSearches::find(std::uint64_t key) const {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  return found == keys_.end() ? nullptr : &outcomes_[static_cast<std::size_t>(found - keys_.begin())];
}

void KnownSearches::add(std::uint64_t key, const Outcome& outcome) {
  keys_.push_back(key);
  outcomes_.push_back(outcome);
}

}  // namespace xylem
