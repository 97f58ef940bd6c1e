#include "channels/known_searches.h"

#include <bit>

#include "channels/explored.h"

namespace xylem {

SearchKeys searchKeys(const SearchSpace& space, const Terrain& terrain, const Room& room,
                      const ChannelGraph& wanted) {
  const Terrain::Limits& limits = terrain.limits();
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  const std::uint64_t asked = number(limits.intra) | number(limits.inter) << 4 | number(limits.pattern) << 8 |
                              number(wanted.crossNic) << 12 | number(wanted.sameChannels) << 16 |
                              number(wanted.maxChannels) << 20;
  const std::uint64_t exact = mixHash(mixHash(mixHash(1, asked), space.freeHash()),
                                      bits(wanted.bwIntra) << 32 | bits(wanted.bwInter));
  if (!room.traceless()) return {exact, exact};
  const std::uint64_t content = mixHash(mixHash(2, asked), room.searchHash());
  const bool rankedByFree = space.netCount() > 0 && !space.hasNvs();
  return {content, rankedByFree ? exact : content};
}

}  // namespace xylem
