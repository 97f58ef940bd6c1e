#pragma once
// How many steps the search takes to try all orders of the remaining GPUs to the end of a channel, counted
// without walking them.
//
//   OrderCount count;
//   count.clear(gpus);
//   count.addHop(a, b, hops); ... count.setEnd(b, steps, hops); ...
//   if (count.count(gpu, visited, limit)) ... count.steps() ...
//
// This is possible where the links a channel takes change nothing for the rest of it and no channel can
// follow: then the steps from a GPU on depend only on the set of GPUs visited, not on their order. So every
// pair of a set and its last GPU is counted once (dynamic programming over sets), where a walk visits it in
// every order.

#include <cstdint>
#include <vector>

#include "planner/search/search_memo.h"

namespace xylem::search {

class OrderCount {
 public:
  // Sets of GPUs are bits of a word.
  static constexpr int kMaxGpus = 64;

  // Forgets everything but the memory it has.
  void clear(int gpus);
  // Says that a channel may go on from one GPU to another, over this many links.
  void addHop(int from, int to, int hops);
  // Says how many steps it takes from the last GPU to the end of the channel, and over how many links; 0
  // steps if it cannot end there.
  void setEnd(int last, int steps, int hops);

  // Counts from `gpu` on, the last of `visited`. Returns false if that makes `limit` steps or more.
  bool count(int gpu, std::uint64_t visited, std::int64_t limit);
  // The result: all steps, and the channel with the fewest hops (channels: 0 or 1).
  std::int64_t steps() const { return counted_.steps; }
  const SearchScore& score() const { return counted_.score; }

 private:
  struct Count {
    std::int64_t steps = 0;
    SearchScore score;
  };
  struct Hop {
    std::int32_t gpu, hops;
  };
  Count from(int gpu, std::uint64_t visited);
  Count explore(int gpu, std::uint64_t visited);

  int gpus_ = 0;
  std::vector<Hop> hops_;      // by GPU, gpus_ entries each
  std::vector<int> hopCount_;  // by GPU
  std::vector<Count> ends_;    // by GPU
  SearchMemo counts_;          // by set and its last GPU
  std::int64_t limit_ = 0;
  bool over_ = false;  // the limit is reached
  Count counted_;
};

}  // namespace xylem::search
