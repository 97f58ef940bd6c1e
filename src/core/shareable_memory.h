#pragma once
// Memory that other processes can be given: what ncclMemAlloc and cudaMalloc hand out. It lies in few large
// regions, each a file without a name, of which only what is used takes memory. Pointers into it are found
// again, so that a peer who has the region's descriptor can read there.
//
//   void* data = ShareableMemory::allocate(bytes);
//   if (const auto place = ShareableMemory::find(data, bytes)) send(ShareableMemory::fd(place->region), ...);
//   ShareableMemory::release(data);
//
// One for the process, as pointers are all that programs pass. Regions stay until the process ends: a number
// always means the same memory, and what is released goes back to the system even while peers have it mapped.
// All functions may be called from any thread. After fork, the child leaves its parent's regions alone.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace xylem {

class ShareableMemory {
 public:
  // At most so many regions; their numbers are 0 to kMostRegions - 1.
  static constexpr std::uint32_t kMostRegions = 64;

  struct Place {
    std::uint32_t region = 0;
    std::uint64_t offset = 0;
  };

  // At a multiple of 256, of a page from a page on, of 2 MiB from 2 MiB on. Throws ncclSystemError if there
  // is none.
  static void* allocate(std::size_t bytes);
  // False if `address` does not come from allocate.
  static bool release(void* address);
  // Where `bytes` bytes from `address` lie, if all in one region. Takes no lock.
  static std::optional<Place> find(const void* address, std::size_t bytes) noexcept;
  // The other way round; `place` comes from find.
  static std::byte* at(Place place) noexcept;
  // A region's descriptor, which stays ours, and its size.
  static int fd(std::uint32_t region) noexcept;
  static std::size_t bytes(std::uint32_t region) noexcept;
};

}  // namespace xylem
