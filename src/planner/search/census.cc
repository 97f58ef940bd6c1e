#include "planner/search/census.h"

#include <bit>

namespace xylem {

void Census::clear(int gpus) {
  gpus_ = gpus;
  ways_.resize(static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus));
  wayCount_.assign(static_cast<std::size_t>(gpus_), 0);
  ends_.assign(static_cast<std::size_t>(gpus_), Count{});
  counts_.clear();
  over_ = false;
}

void Census::addWay(int from, int to, int hops) {
  const auto i = static_cast<std::size_t>(from);
  ways_[i * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(wayCount_[i]++)] = {to, hops};
}

void Census::setEnd(int last, int steps, int hops) {
  ends_[static_cast<std::size_t>(last)] = {steps, {steps > 0 ? 1 : 0, hops}};
}

bool Census::count(int gpu, std::uint64_t visited, std::int64_t limit) {
  limit_ = limit;
  counted_ = from(gpu, visited);
  return !over_ && counted_.steps < limit;
}

Census::Count Census::from(int gpu, std::uint64_t visited) {
  const int left = gpus_ - std::popcount(visited);
  if (left == 0) return ends_[static_cast<std::size_t>(gpu)];
  if (left == 1) return explore(gpu, visited);
  const std::uint64_t key = mixHash(mixHash(1, visited), static_cast<std::uint64_t>(gpu));
  if (const Explored::Entry* known = counts_.find(key)) return {known->steps, known->completed};
  const Count count = explore(gpu, visited);
  if (!over_) counts_.add(key, count.steps, 0, count.completed);
  return count;
}

Census::Count Census::explore(int gpu, std::uint64_t visited) {
  const auto i = static_cast<std::size_t>(gpu);
  const Next* way = ways_.data() + i * static_cast<std::size_t>(gpus_);
  const Next* end = way + wayCount_[i];
  Count total;
  for (; way != end && !over_; ++way) {
    const std::uint64_t with = visited | std::uint64_t{1} << way->gpu;
    if (with == visited) continue;
    const Count rest = from(way->gpu, with);
    total.steps += 1 + rest.steps;
    total.completed.add(rest.completed.after(way->hops));
    over_ |= total.steps >= limit_;
  }
  return total;
}

}  // namespace xylem
