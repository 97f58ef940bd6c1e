#include "runtime/collectives/streamed_results.h"

namespace xylem::collectives {

bool StreamedResults::choose(const DirectWork& work, int rank, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const bool inPlace = ownOutput(work, rank) == ownInput(work, rank);
  bytes_ = (inputBytes(work, n) + outputBytes(work, n)) * n;
  tried_ = nullptr;
  writes_ = false;
  streams_ = bytes_ > from_;
  if (!adapts_ || bytes_ < kLeast || bytes_ >= kMost || (reduces(work.function) && inPlace)) return streams_;
  auto& ways = ways_[static_cast<std::size_t>(work.function)][inPlace];
  if (ways == nullptr)  // a power of two begins as the sizes in its middle
    ways = std::make_unique<transport::WaysBySize>(
        [this](std::uint64_t bytes) { return bytes + bytes / 2 > from_; });
  tried_ = ways.get();
  return streams_ = tried_->second(bytes_);
}

void StreamedResults::begin() {
  if (tried_ == nullptr) return;
  writes_ = true;
  begun_.reset();
  if (tried_->times(bytes_)) begun_ = now_();
}

std::optional<transport::WayChange> StreamedResults::end() {
  if (!writes_) return std::nullopt;
  writes_ = false;
  std::optional<std::chrono::nanoseconds> time;
  if (begun_) time = now_() - *begun_;
  std::optional<transport::WayChange> change = tried_->took(bytes_, streams_, time);
  if (change) change->names = {"through the caches", "past the caches"};
  return change;
}

}  // namespace xylem::collectives
