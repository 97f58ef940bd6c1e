#pragma once
// Puts memory that other processes often read or write through the kernel into huge pages. The kernel looks up each page that it copies
// from or to, which on some machines takes as long as to copy 4 KiB.
//
//   if (HugePages::ofProcess().othersWillUse(buffer, bytes)) ...   // before each use; true: it has taken a while
//
// Only whole huge pages of 2 MiB inside of what is used are asked for. So a program has no more memory than before, but for pages that
// it has never written or has given back, and for those that it shares with a child of fork. It reads and writes the memory meanwhile as ever. Nothing is done
// where the machine's administrator wants no huge pages, and before Linux 6.1.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace xylem::transport {

class HugePages {
 public:
  // Puts the 2 MiB from here on into a huge page: 0, or an errno.
  using Collapse = std::function<int(std::byte* page)>;
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  // Without `collapse`, nothing is done.
  explicit HugePages(Collapse collapse, Now now = std::chrono::steady_clock::now)
      : collapse_(std::move(collapse)), now_(std::move(now)) {}
  // The object of all ranks of this process.
  static HugePages& ofProcess();

  // Others will read or write this memory. From the kOften-th time on it takes up to kMostTime and one page longer, until all is in huge pages. Any
  // thread; while it is in here, uses of other threads' memory do not count.
  bool othersWillUse(const std::byte* data, std::size_t bytes);

  static constexpr std::uint32_t kOften = 16;
  // The program may free memory and get small pages at the same addresses. So the kernel is asked again after this many uses.
  static constexpr std::uint32_t kAgain = 1024;
  static constexpr std::chrono::milliseconds kMostTime{5};
  // If the machine has no 2 MiB in one piece, to look for them takes long: it is left alone for this time.
  static constexpr std::chrono::seconds kPause{60};

 private:
  struct Page {
    std::uint32_t uses = 0, due = kOften;
  };

  const Collapse collapse_;
  const Now now_;
  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, Page> pages_;  // by the number of the huge page
  std::chrono::steady_clock::time_point notBefore_{};
};

}  // namespace xylem::transport
