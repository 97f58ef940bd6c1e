#include "runtime/transport/local/huge_pages.h"

#include <algorithm>
#include <cerrno>

#include "core/address_space.h"

namespace xylem::transport {
namespace {

// With more pages (32 GiB), all are counted anew.
constexpr std::size_t kMostCounted = 16384;

}  // namespace

// It stays until the process ends, as threads may use it until then.
HugePages& HugePages::ofProcess() {
  static auto& pages = *new HugePages(
      hugePagesArePermitted() ? Collapse([](std::byte* page) { return intoHugePages(page, kHugePage); })
                              : Collapse());
  return pages;
}

bool HugePages::othersWillUse(const std::byte* data, std::size_t bytes) {
  if (!collapse_ || bytes < kHugePage) return false;
  // Not to wait: a child of fork may have got the mutex locked.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage;
  const std::uintptr_t end = std::min((begin + bytes) / kHugePage, first + kMostCounted);
  if (pages_.size() > kMostCounted) pages_.clear();
  bool asked = false;
  std::chrono::steady_clock::time_point until;
  for (std::uintptr_t number = first; number < end; ++number) {
    Page& page = pages_[number];
    if (++page.uses < page.due) continue;
    const auto now = now_();
    if (now < notBefore_ || (asked && now >= until)) continue;
    if (!asked) until = now + kMostTime;
    asked = true;
    const int error = collapse_(reinterpret_cast<std::byte*>(number * kHugePage));
    if (error == ENOMEM || error == EBUSY) notBefore_ = now + kPause;
    // Where it is not possible now, it may be later; each time the kernel is asked after twice as many uses.
    page.due = page.uses + (error == 0 ? kAgain : std::min(page.uses, kAgain));
  }
  return asked;
}

}  // namespace xylem::transport
