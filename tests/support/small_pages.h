#pragma once
// Memory in small pages, of which the kernel says how much is in huge ones by now.
//
//   if (!SmallPages::mayBecomeHuge()) GTEST_SKIP() << "no huge pages here";
//   SmallPages memory(bytes);
//   EXPECT_GT(memory.hugeBytes(), 0U);

#include <sys/mman.h>
#include <sys/prctl.h>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

#include "core/address_space.h"

namespace xylem::testing {

class SmallPages {
 public:
  // It begins at a huge page, and each byte is 1.
  explicit SmallPages(std::size_t bytes) : all_(bytes + 2 * kHugePage) {
    map_ = mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) throw std::bad_alloc();
    // The kernel would count it together with memory beside it.
    mprotect(map_, kPage, PROT_NONE);
    mprotect(static_cast<std::byte*>(map_) + all_ - kPage, kPage, PROT_NONE);
    const int before = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    std::memset(data(), 1, bytes);
    prctl(PR_SET_THP_DISABLE, before > 0 ? 1 : 0, 0, 0, 0);
  }
  SmallPages(const SmallPages&) = delete;
  SmallPages& operator=(const SmallPages&) = delete;
  ~SmallPages() { munmap(map_, all_); }

  std::byte* data() const {
    const auto begin = reinterpret_cast<std::uintptr_t>(map_);
    return reinterpret_cast<std::byte*>((begin + kHugePage) / kHugePage * kHugePage);
  }
  // As /proc/self/smaps says.
  std::size_t hugeBytes() const {
    std::ifstream maps("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(data());
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
      std::uintptr_t begin = 0, end = 0;
      std::size_t kib = 0;
      if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
        here = begin <= wanted && wanted < end;
      else if (here && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kib) == 1)
        return kib << 10;
    }
    return 0;
  }
  // Whether the kernel makes huge pages of small ones by itself, sooner or later.
  static bool mayBecomeHugeAlone() {
    std::string enabled;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), enabled);
    return enabled.find("[always]") != std::string::npos;
  }
  // Whether huge pages are permitted, and some are free.
  static bool mayBecomeHuge() {
    constexpr std::size_t kSome = 8;
    const SmallPages some(kSome * kHugePage);
    return hugePagesArePermitted() && intoHugePages(some.data(), kSome * kHugePage) == 0;
  }

 private:
  static constexpr std::size_t kPage = 4096;

  std::size_t all_;
  void* map_ = nullptr;
};

}  // namespace xylem::testing
