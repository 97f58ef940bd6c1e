#include "runtime/collectives/streamed_results.h"

namespace xylem::collectives {

bool StreamedResults::choose(const DirectWork& work, int rank, int ranks) {
  using transport::WaysBySize;
  const bool inPlace = isInPlace(work, rank);
  bytes_ = allBytes(work, ranks);
  tried_ = nullptr;
  streams_ = bytes_ > from_;
  if (!adapts_ || bytes_ < kLeast || bytes_ >= kMost || (reduces(work.function) && inPlace)) return streams_;
  auto& ways = ways_[static_cast<std::size_t>(work.function)][inPlace];
  if (ways == nullptr)  // other powers of two begin as the sizes in their middle
    ways = std::make_unique<WaysBySize>([this](std::uint64_t bytes) {
      return (WaysBySize::indexOf(bytes) == WaysBySize::indexOf(bytes_) ? bytes_ : bytes + bytes / 2) > from_;
    });
  tried_ = ways.get();
  return streams_ = tried_->second(bytes_);
}

void StreamedResults::begin(bool mayStream) {
  begun_.reset();
  if (tried_ != nullptr && mayStream && tried_->times(bytes_)) begun_ = now_();
}

// Without a time, too: a trial that cannot be made is put off.
std::optional<transport::WayChange> StreamedResults::end() {
  if (tried_ == nullptr) return std::nullopt;
  std::optional<std::chrono::nanoseconds> time;
  if (begun_) time = now_() - *begun_;
  std::optional<transport::WayChange> change = tried_->took(bytes_, streams_, time);
  if (change) change->names = {"through the caches", "past the caches"};
  return change;
}

}  // namespace xylem::collectives
