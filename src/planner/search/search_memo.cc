#include "planner/search/search_memo.h"

#include <algorithm>

namespace xylem::search {

void SearchMemo::add(std::uint64_t key, std::int64_t steps, const SearchScore& score) {
  if (4 * (size_ + 1) > 3 * entries_.size()) {
    std::vector<Entry> old(4 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.generation == generation_) entries_[slot(entry.key)] = entry;
  }
  Entry& entry = entries_[slot(key)];
  if (entry.generation != generation_) ++size_;
  entry = {key, generation_, static_cast<std::int32_t>(steps), score};
}

const SearchOutcome* KnownSearches::find(std::uint64_t key) const {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  return found == keys_.end() ? nullptr : &outcomes_[static_cast<std::size_t>(found - keys_.begin())];
}

void KnownSearches::add(std::uint64_t key, const SearchOutcome& outcome) {
  if (find(key) != nullptr) return;
  keys_.push_back(key);
  outcomes_.push_back(outcome);
}

}  // namespace xylem::search
