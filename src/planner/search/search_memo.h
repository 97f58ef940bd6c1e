#pragma once
// The memory of searches for explorations that improved nothing: how many steps each took, by the state it
// started from. When an equal state comes back, the steps are charged instead of taken.
//
//   const SearchMemo::Entry* known = memo.find(key);
//   if (known != nullptr && !isBetter(wanted, best, known->score)) { left -= known->steps; return; }
//
// The budget of steps is part of the search's result, so an entry always carries its steps. SearchMemo holds
// the states within one search, KnownSearches the whole searches of one graph.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/search/channel_graph.h"

namespace xylem::search {

// Folds a value into a hash.
constexpr std::uint64_t mixHash(std::uint64_t hash, std::uint64_t value) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return (std::rotl(hash, 23) ^ value) * kOdd;
}
// A random odd number for an index (splitmix64): the weight of a link or a GPU in hashes that are sums.
constexpr std::uint64_t hashWeight(std::uint64_t index) {
  std::uint64_t x = (index + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return (x ^ (x >> 31)) | 1;
}

// All that decides which of two solutions of one search is better: more channels first, then fewer hops. The
// best score of an exploration stands for all its solutions: if it does not improve on a graph, none does.
struct SearchScore {
  std::int32_t channels = 0;  // 0: no channel was completed
  std::int32_t hops = 0;

  SearchScore plusHops(int more) const { return {channels, hops + more}; }
  void keepBetter(const SearchScore& other) {
    if (other.channels > channels || (other.channels == channels && other.hops < hops)) *this = other;
  }
};

// Returns whether channels of this score, built as `wanted` says, are better than the best graph so far: more
// bandwidth in all, or the same in fewer hops.
inline bool isBetter(const ChannelGraph& wanted, const ChannelGraph& best, const SearchScore& score) {
  const int channels = score.channels;
  if (channels == 0 || channels < wanted.minChannels) return false;
  if (wanted.pattern == Pattern::kNvls)
    return (channels > best.nChannels && channels <= wanted.gpuCount) ||
           static_cast<float>(channels) * wanted.bwInter > static_cast<float>(best.nChannels) * best.bwInter;
  const float mine = static_cast<float>(channels) * wanted.bwIntra;
  const float theirs = static_cast<float>(best.nChannels) * best.bwIntra;
  if (mine != theirs) return mine > theirs;
  return wanted.pattern == best.pattern && wanted.crossNic == best.crossNic && score.hops < best.nHops;
}

// A hash table of explorations by state key.
class SearchMemo {
 public:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t generation = 0;
    std::int32_t steps = 0;
    SearchScore score;  // hops: beyond those of the state
  };

  // Forgets everything: states of one search say nothing about another.
  void clear() {
    ++generation_;
    size_ = 0;
  }
  // Returns null if the state was not explored.
  const Entry* find(std::uint64_t key) const {
    const Entry& entry = entries_[slot(key)];
    return entry.generation == generation_ ? &entry : nullptr;
  }
  void add(std::uint64_t key, std::int64_t steps, const SearchScore& score);

 private:
  std::size_t slot(std::uint64_t key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = (key ^ (key >> 32)) & mask;
    while (entries_[i].generation == generation_ && entries_[i].key != key) i = (i + 1) & mask;
    return i;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(256);  // open addressing; the size is a power of two
  std::uint32_t generation_ = 1;                          // entries of other generations are empty slots
  std::size_t size_ = 0;
};

// The result of a search.
struct SearchOutcome {
  std::int64_t steps = 0;   // entries of the recursion, over all budgets
  std::int64_t left = 0;    // of the budget; kPerfect: a solution with all channels wanted
  SearchScore score;        // of the best solution, an improvement or not; hops since the start
  bool exhaustive = false;  // every order was tried: no budget ran out

  static constexpr std::int64_t kPerfect = -1;
};

// The outcomes of searches that left everything as it was, by key.
class KnownSearches {
 public:
  // Returns null if no search of this key is known.
  const SearchOutcome* find(std::uint64_t key) const;
  void add(std::uint64_t key, const SearchOutcome& outcome);

 private:
  // The slot of a key, or the free one where it belongs.
  std::size_t slot(std::uint64_t key) const;

  // A hash table: numbers of outcomes from 1 on, 0 where there is none. Keys are hashes already.
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint64_t> keys_;
  std::vector<SearchOutcome> outcomes_;
};

}  // namespace xylem::search
