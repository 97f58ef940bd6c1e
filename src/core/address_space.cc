#include "core/address_space.h"

#include <sys/mman.h>

#include <cstdint>

namespace xylem {

std::byte* reserveAddresses(std::size_t bytes, std::size_t colour) noexcept {
  constexpr std::size_t kPeriod = kColours * kHugePage;
  // Reserves one period more than needed, and unmaps what lies before the wanted address and behind the
  // range.
  void* all = mmap(nullptr, bytes + kPeriod, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(all);
  const std::size_t wanted = colour % kColours * kHugePage;
  const std::size_t before = (wanted - reinterpret_cast<std::uintptr_t>(first)) % kPeriod;
  if (before > 0) munmap(first, before);
  if (before < kPeriod) munmap(first + before + bytes, kPeriod - before);
  return first + before;
}

void populate([[maybe_unused]] std::byte* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  madvise(memory, bytes, MADV_POPULATE_WRITE);
#endif
}

}  // namespace xylem
