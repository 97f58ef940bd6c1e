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

std::size_t KnownSearches::slot(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  // The upper bits are the best mixed ones of a product.
  std::size_t at = static_cast<std::size_t>(key ^ (key >> 32)) & mask;
  while (slots_[at] != 0 && keys_[slots_[at] - 1] != key) at = (at + 1) & mask;
  return at;
}

const SearchOutcome* KnownSearches::find(std::uint64_t key) const {
  if (slots_.empty()) return nullptr;
  const std::uint32_t number = slots_[slot(key)];
  return number == 0 ? nullptr : &outcomes_[number - 1];
}

void KnownSearches::add(std::uint64_t key, const SearchOutcome& outcome) {
  constexpr std::size_t kFirstSlots = 32;
  if (2 * (keys_.size() + 1) > slots_.size()) {
    slots_.assign(std::max(kFirstSlots, 4 * slots_.size()), 0);
    for (std::size_t i = 0; i < keys_.size(); ++i) slots_[slot(keys_[i])] = static_cast<std::uint32_t>(i + 1);
  }
  std::uint32_t& number = slots_[slot(key)];
  if (number != 0) return;
  keys_.push_back(key);
  outcomes_.push_back(outcome);
  number = static_cast<std::uint32_t>(keys_.size());
}

}  // namespace xylem::search
