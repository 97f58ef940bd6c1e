#pragma once
// Where a buffer of a rank is, as it tells the other ranks of its host. PeerMemory::at turns it into an address.

#include <cstdint>

namespace xylem::transport {

struct BufferPlace {
  static constexpr std::uint32_t kAddress = 0;  // `address` is valid in the owner's process only
  static constexpr std::uint32_t kFirstRegion = 1;

  // kAddress, or kFirstRegion + the number of a region of the owner's ShareableMemory.
  std::uint32_t region;
  std::uint64_t address;  // or the offset in the region
};

}  // namespace xylem::transport
