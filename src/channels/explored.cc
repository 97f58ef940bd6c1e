#include "channels/explored.h"

namespace xylem {

std::size_t Explored::slot(std::uint64_t key) const {
  const std::size_t mask = entries_.size() - 1;
  std::size_t i = (key ^ (key >> 32)) & mask;
  while (entries_[i].generation == generation_ && entries_[i].key != key) i = (i + 1) & mask;
  return i;
}

const Explored::Entry* Explored::find(std::uint64_t key) const {
  const Entry& entry = entries_[slot(key)];
  return entry.generation == generation_ ? &entry : nullptr;
}

void Explored::add(std::uint64_t key, std::int64_t steps, float latency) {
  if (4 * (size_ + 1) > 3 * entries_.size()) {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.generation == generation_) entries_[slot(entry.key)] = entry;
  }
  Entry& entry = entries_[slot(key)];
  if (entry.generation != generation_) ++size_;
  entry = {key, generation_, static_cast<std::int32_t>(steps), latency};
}

}  // namespace xylem
