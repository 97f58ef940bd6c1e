#pragma once
// Memory in small pages, of which the kernel says how much is in huge ones by now.
//
//   SmallPages memory(bytes);
//   if (!SmallPages::mayBecomeHuge()) GTEST_SKIP() << "no huge pages here";
//   EXPECT_EQ(memory.hugeBytes(), 0u);

#include <sys/mman.h>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

namespace xylem::testing {

class SmallPages {
 public:
  static constexpr std::size_t kHuge = std::size_t{2} << 20;

  // It begins at a multiple of 2 MiB, and each byte is 1.
  explicit SmallPages(std::size_t bytes) : all_(bytes + kHuge) {
    map_ = mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) throw std::bad_alloc();
    makeAnew();
  }
  SmallPages(const SmallPages&) = delete;
  SmallPages& operator=(const SmallPages&) = delete;
  ~SmallPages() { munmap(map_, all_); }

  // Other memory at the same addresses, in small pages again.
  void makeAnew() {
    madvise(map_, all_, MADV_DONTNEED);
    madvise(map_, all_, MADV_NOHUGEPAGE);
    std::memset(map_, 1, all_);
    madvise(map_, all_, MADV_HUGEPAGE);
  }
  std::byte* data() const {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(map_) + kHuge - 1) / kHuge * kHuge);
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
  // Whether the kernel has huge pages, the administrator permits them, and one is free.
  static bool mayBecomeHuge() {
    std::string permitted;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), permitted);
    if (permitted.empty() || permitted.find("[never]") != std::string::npos) return false;
    const SmallPages some(kHuge);
    constexpr int kCollapse = 25;
    return madvise(some.data(), kHuge, kCollapse) == 0;
  }

 private:
  std::size_t all_;
  void* map_ = nullptr;
};

}  // namespace xylem::testing
