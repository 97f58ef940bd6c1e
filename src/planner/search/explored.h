#pragma once
// What a search has explored to the end without improving on the best graph: when it meets the same state
// again it knows how many steps the exploration takes, and takes them at once. The budget of steps is part of
// the result, so nothing else about the search changes.
//
//   if (const Explored::Entry* known = explored.find(key)) { time -= known->steps; return; }

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/search/completed.h"

namespace xylem {

// Folds a value into a hash.
constexpr std::uint64_t mixHash(std::uint64_t hash, std::uint64_t value) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return (std::rotl(hash, 23) ^ value) * kOdd;
}

class Explored {
 public:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t generation = 0;
    std::int32_t steps = 0;
    float latency = 0;    // microseconds, of the NET the exploration started a channel from last
    Completed completed;  // hops: beyond those of the state
  };

  // Forgets everything: states of one search say nothing about another.
  void clear() {
    ++generation_;
    size_ = 0;
  }
  // Null if the state was not explored.
  const Entry* find(std::uint64_t key) const {
    const Entry& entry = entries_[slot(key)];
    return entry.generation == generation_ ? &entry : nullptr;
  }
  void add(std::uint64_t key, std::int64_t steps, float latency, const Completed& completed);

 private:
  std::size_t slot(std::uint64_t key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = (key ^ (key >> 32)) & mask;
    while (entries_[i].generation == generation_ && entries_[i].key != key) i = (i + 1) & mask;
    return i;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(256);  // open addressing; a power of two
  std::uint32_t generation_ = 1;
  std::size_t size_ = 0;
};

}  // namespace xylem
