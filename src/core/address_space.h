#pragma once
// Address space for large mappings, placed so that mappings of equal layout do not get in each other's way.
//
//   std::byte* place = reserveAddresses(bytes, 3);
//   mmap(place, bytes, ..., MAP_FIXED, ...);
//
// Ranks that run the same program have the same buffers at the same offsets of their memory. Processors look
// up the first cache by few bits of the address (AMD's Zen by a hash of bits 12 to 27), so that a line of our
// memory and the corresponding one of a peer would take turns there if both mappings started alike: adding
// them takes up to eight times as long. Mappings of different colours do not collide like that.

#include <cstddef>

namespace xylem {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Of our own memory; those of others are 1 to kColours - 1.
constexpr std::size_t kOwnColour = 0;
constexpr std::size_t kColours = 128;

// Null, with errno, if there is no room. Nothing may be accessed there yet. Starts at a multiple of 2 MiB.
std::byte* reserveAddresses(std::size_t bytes, std::size_t colour) noexcept;

}  // namespace xylem
