#pragma once
// Memory that can be shared with other processes: that of ncclMemAlloc and cudaMalloc. It lies in a few large
// regions. Each is an anonymous file (memfd), of which only the used part takes memory. A pointer can be
// translated to its region and offset, where a peer that has mapped the region's descriptor can read it.
//
//   void* data = ShareableMemory::allocate(bytes);
//   if (const auto place = ShareableMemory::find(data, bytes)) send(ShareableMemory::fd(place->region), ...);
//   ShareableMemory::release(data);
//
// There is one allocator per process, as programs pass only pointers. Regions stay until the process ends, so
// a region's number always means the same memory. Released pages go back to the system even while peers have
// them mapped. All functions may be called from any thread. After fork, the child does not change its
// parent's regions.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace xylem {

class ShareableMemory {
 public:
  // Regions have the numbers 0 to kMaxRegions - 1.
  static constexpr std::uint32_t kMaxRegions = 64;

  struct Place {
    std::uint32_t region = 0;
    std::uint64_t offset = 0;
  };

  // Aligned to 256 bytes; to a page from 4 KiB on; to 2 MiB from 2 MiB on. Throws ncclSystemError if there is
  // no memory.
  static void* allocate(std::size_t bytes);
  // False if `address` does not come from allocate.
  static bool release(void* address);
  // The place of the `bytes` bytes from `address` on, if all lie in one region. Takes no lock.
  static std::optional<Place> find(const void* address, std::size_t bytes) noexcept;
  // The address of a place that find has returned.
  static std::byte* at(Place place) noexcept;
  // A region's descriptor, which must not be closed, and its size in bytes.
  static int fd(std::uint32_t region) noexcept;
  static std::size_t bytes(std::uint32_t region) noexcept;
};

}  // namespace xylem
