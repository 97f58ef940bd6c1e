#include "runtime/transport/session/peer_regions.h"

#include "core/address_space.h"

namespace xylem::transport {
namespace {

// Spreads the mappings of different peers over the address colours.
std::size_t colourOf(int rank) { return 1 + static_cast<std::size_t>(rank) % (kColours - 1); }

}  // namespace

void PeerRegions::map(std::uint32_t region, FileDescriptor fd, std::size_t bytes) {
  if (region >= mappings_.size() || known(region)) return;
  Mapping& mapping = mappings_[region];
  mapping.memory = SharedMemory::open(std::move(fd), bytes, colourOf(owner_));
  mapping.memory.closeFd();
  mapping.mapped.store(true, std::memory_order_release);
}

bool PeerRegions::known(std::uint32_t region) const {
  return region < mappings_.size() && mappings_[region].mapped.load(std::memory_order_acquire);
}

std::byte* PeerRegions::at(std::uint32_t region, std::uint64_t offset, std::size_t bytes) const {
  if (!known(region)) return nullptr;
  const SharedMemory& memory = mappings_[region].memory;
  if (offset > memory.size() || bytes > memory.size() - offset) return nullptr;
  return memory.data() + offset;
}

}  // namespace xylem::transport
