#include "planner/search/explored.h"

namespace xylem {

void Explored::add(std::uint64_t key, std::int64_t steps, float latency, const Completed& completed) {
  if (4 * (size_ + 1) > 3 * entries_.size()) {
    std::vector<Entry> old(4 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.generation == generation_) entries_[slot(entry.key)] = entry;
  }
  Entry& entry = entries_[slot(key)];
  if (entry.generation != generation_) ++size_;
  entry = {key, generation_, static_cast<std::int32_t>(steps), latency, completed};
}

}  // namespace xylem
