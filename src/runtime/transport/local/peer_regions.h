#pragma once
// The regions of a peer's ShareableMemory that this process has mapped.
//
//   regions.map(number, std::move(fd), bytes);            // when the peer has sent one
//   if (std::byte* data = regions.at(number, offset, n)) ...

#include <array>
#include <atomic>
#include <cstdint>

#include "core/shareable_memory.h"
#include "runtime/transport/local/shared_memory.h"

namespace xylem {

class PeerRegions {
 public:
  // `owner`: a rank of another process.
  explicit PeerRegions(int owner) : owner_(owner) {}
  // One thread at a time. Throws if it cannot be mapped.
  void map(std::uint32_t region, FileDescriptor fd, std::size_t bytes);
  bool known(std::uint32_t region) const;
  // Null if it is not mapped or does not reach so far. Any thread.
  std::byte* at(std::uint32_t region, std::uint64_t offset, std::size_t bytes) const;

 private:
  struct Mapping {
    SharedMemory memory;
    std::atomic<bool> mapped{false};
  };
  const int owner_;
  std::array<Mapping, ShareableMemory::kMostRegions> mappings_;
};

}  // namespace xylem
