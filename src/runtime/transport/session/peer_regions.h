#pragma once
// The regions of a peer's ShareableMemory that this process has mapped.
//
//   regions.map(number, std::move(fd), bytes);            // when the peer has sent one
//   if (std::byte* data = regions.at(number, offset, n)) ...

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/shareable_memory.h"
#include "runtime/transport/local/shared_memory.h"

namespace xylem::transport {

// The body of kRegion.
struct RegionNote {
  std::uint64_t bytes = 0;
  std::uint32_t region = 0;
  std::uint32_t unused = 0;
};

class PeerRegions {
 public:
  // `owner`: a rank of another process.
  explicit PeerRegions(int owner) : owner_(owner) {}
  // One thread may call it at a time. Throws if the region cannot be mapped.
  void map(std::uint32_t region, FileDescriptor fd, std::size_t bytes);
  bool known(std::uint32_t region) const;
  // The address of a range of a region; null if the region is not mapped or shorter. Any thread may call it.
  std::byte* at(std::uint32_t region, std::uint64_t offset, std::size_t bytes) const;

 private:
  struct Mapping {
    SharedMemory memory;
    std::atomic<bool> mapped{false};
  };
  const int owner_;
  std::array<Mapping, ShareableMemory::kMaxRegions> mappings_;
};

}  // namespace xylem::transport
