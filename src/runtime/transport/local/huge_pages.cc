#include "runtime/transport/local/huge_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "core/address_space.h"
#include "core/file_descriptor.h"

namespace xylem::transport {
namespace {

using Clock = std::chrono::steady_clock;

// MADV_COLLAPSE, which the C library does not have yet.
constexpr int kCollapse = 25;
// A program may free memory and get small pages at the same addresses. So the kernel is asked again after this many reads; huge pages stay as they are.
constexpr std::uint32_t kAgain = 1024;
// With more pages (32 GiB), all are counted anew.
constexpr std::size_t kMostCounted = 16384;
constexpr auto kMostTime = std::chrono::milliseconds(50);

// Whether the machine's administrator lets programs ask for huge pages: "always [madvise] never".
bool adminPermits() {
  const FileDescriptor fd(open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t n = fd ? read(fd.get(), text.data(), text.size()) : 0;
  return n > 0 &&
         std::string_view(text.data(), static_cast<std::size_t>(n)).find("[never]") == std::string_view::npos;
}

}  // namespace

void HugePages::willBeRead(const std::byte* data, std::size_t bytes) {
  if (!wanted_ || bytes < kHugePage) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage, end = (begin + bytes) / kHugePage;
  if (reads_.size() > kMostCounted) reads_.clear();
  std::optional<Clock::time_point> until;
  for (std::uintptr_t page = first; page < end; ++page) {
    std::uint32_t& reads = reads_[page];
    if (reads + 1 == kOften || (reads + 1) % kAgain == 0) {
      if (!std::exchange(hasAsked_, true)) wanted_ = adminPermits();
      if (!wanted_) return;
      if (!until) until = Clock::now() + kMostTime;
      if (Clock::now() >= *until) continue;  // next time
      const int failed = madvise(reinterpret_cast<void*>(page * kHugePage), kHugePage, kCollapse);
      // The machine has no 2 MiB in one piece. To look for them takes long.
      if (failed != 0 && errno == ENOMEM) wanted_ = false;
      if (!wanted_) return;
    }
    ++reads;
  }
}

}  // namespace xylem::transport
