#include "core/address_space.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

namespace xylem {
namespace {

// The C library may be older than the kernel.
#ifdef MADV_COLLAPSE
constexpr int kCollapse = MADV_COLLAPSE;
#else
constexpr int kCollapse = 25;
#endif

}  // namespace

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

int intoHugePages(std::byte* memory, std::size_t bytes) noexcept {
  return madvise(memory, bytes, kCollapse) == 0 ? 0 : errno;
}

// "always [madvise] never": the one in brackets holds. The size of a huge page is larger where pages are.
bool hugePagesArePermitted() {
  const auto lineOf = [](const std::string& file) {
    std::string line;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/" + file), line);
    return line;
  };
  const auto forbids = [](const std::string& line) { return line.find("[never]") != std::string::npos; };
  const std::string all = lineOf("enabled"), thisSize = lineOf("hugepages-2048kB/enabled");
  return !all.empty() && !forbids(all) && !forbids(thisSize) &&
         lineOf("hpage_pmd_size") == std::to_string(kHugePage);
}

}  // namespace xylem
