#pragma once
// Reserves address space for large mappings, placed so that mappings of equal layout do not collide in the
// cache, and has the kernel back mappings with memory.
//
//   std::byte* place = reserveAddresses(bytes, 3);
//   mmap(place, bytes, ..., MAP_FIXED, ...);
//   populate(place, bytes);
//   if (hugePagesArePermitted()) intoHugePages(place, bytes);
//
// Ranks that run the same program have the same buffers at the same offsets of their memory. Processors index
// the first-level cache by few bits of the address (AMD's Zen predicts the way by a hash of bits 12 to 27).
// If the mappings of two ranks started at addresses with equal low bits, corresponding lines would evict each
// other: adding two such buffers takes up to eight times as long. Mappings of different colours start at
// addresses that differ in those bits.

#include <cstddef>

namespace xylem {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// The colour of this process's own memory; that of peers has colours 1 to kColours - 1.
constexpr std::size_t kOwnColour = 0;
constexpr std::size_t kColours = 128;

// Returns null, with errno set, if there is no address space left. The range starts at a multiple of 2 MiB
// and cannot be accessed before something is mapped there.
std::byte* reserveAddresses(std::size_t bytes, std::size_t colour) noexcept;

// Has the kernel back a mapping that can be written with memory now, not page by page when it is touched, which takes several times as
// long. `memory` starts at a page. Does nothing where the kernel is older than Linux 5.14.
void populate(std::byte* memory, std::size_t bytes) noexcept;

// Has the kernel copy memory, whole huge pages, into huge ones; 0, or an errno: EINVAL also before Linux 6.1, and ENOMEM and EBUSY if it finds
// none. The program uses the memory meanwhile as ever.
int intoHugePages(std::byte* memory, std::size_t bytes) noexcept;
// Whether the machine has huge pages of kHugePage, and its administrator lets programs ask for them. Not where /sys cannot be read.
bool hugePagesArePermitted();

}  // namespace xylem
