#include "planner/search/order_count.h"

#include <bit>

namespace xylem::search {

void OrderCount::clear(int gpus) {
  gpus_ = gpus;
  hops_.resize(static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus));
  hopCount_.assign(static_cast<std::size_t>(gpus_), 0);
  ends_.assign(static_cast<std::size_t>(gpus_), Count{});
  counts_.clear();
  over_ = false;
}

void OrderCount::addHop(int from, int to, int hops) {
  const auto i = static_cast<std::size_t>(from);
  hops_[i * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(hopCount_[i]++)] = {to, hops};
}

void OrderCount::setEnd(int last, int steps, int hops) {
  ends_[static_cast<std::size_t>(last)] = {steps, {steps > 0 ? 1 : 0, hops}};
}

bool OrderCount::count(int gpu, std::uint64_t visited, std::int64_t limit) {
  limit_ = limit;
  counted_ = from(gpu, visited);
  return !over_ && counted_.steps < limit;
}

// The count from a GPU on, looked up if it is known.
OrderCount::Count OrderCount::from(int gpu, std::uint64_t visited) {
  const int left = gpus_ - std::popcount(visited);
  if (left == 0) return ends_[static_cast<std::size_t>(gpu)];
  if (left == 1) return explore(gpu, visited);  // quicker than looking it up
  const std::uint64_t key = mixHash(mixHash(1, visited), static_cast<std::uint64_t>(gpu));
  if (const SearchMemo::Entry* known = counts_.find(key)) return {known->steps, known->score};
  const Count count = explore(gpu, visited);
  if (!over_) counts_.add(key, count.steps, count.score);
  return count;
}

OrderCount::Count OrderCount::explore(int gpu, std::uint64_t visited) {
  const auto i = static_cast<std::size_t>(gpu);
  const Hop* hop = hops_.data() + i * static_cast<std::size_t>(gpus_);
  const Hop* end = hop + hopCount_[i];
  Count total;
  for (; hop != end && !over_; ++hop) {
    const std::uint64_t with = visited | std::uint64_t{1} << hop->gpu;
    if (with == visited) continue;
    const Count rest = from(hop->gpu, with);
    total.steps += 1 + rest.steps;
    total.score.keepBetter(rest.score.plusHops(hop->hops));
    over_ |= total.steps >= limit_;
  }
  return total;
}

}  // namespace xylem::search
