#pragma once
// How many steps the search takes to try all ways to the end of a channel, counted without walking them.
//
//   Census census;
//   census.clear(gpus);
//   census.addWay(a, b, hops); ... census.setEnd(b, steps, hops); ...
//   if (census.count(gpu, visited, limit)) ... census.steps() ...
//
// Possible where what a channel takes on its way changes nothing for the rest of it and nothing can follow:
// then the steps from a GPU on depend only on the set of GPUs visited, not on their order, and a set is
// counted once.

#include <cstdint>
#include <vector>

#include "planner/search/completed.h"
#include "planner/search/explored.h"

namespace xylem {

class Census {
 public:
  // Sets of GPUs are bits of a word.
  static constexpr int kMaxGpus = 64;

  // Forgets everything. The memory is worth keeping.
  void clear(int gpus);
  void addWay(int from, int to, int hops);
  // From the last GPU to the end of the channel: 0 steps if there is no way.
  void setEnd(int last, int steps, int hops);

  // Counts from `gpu` on, the last of `visited`; false if it would be `limit` steps or more.
  bool count(int gpu, std::uint64_t visited, std::int64_t limit);
  // What was counted, and the channel with the fewest hops among those completed (channels: 0 or 1).
  std::int64_t steps() const { return counted_.steps; }
  const Completed& completed() const { return counted_.completed; }

 private:
  struct Count {
    std::int64_t steps = 0;
    Completed completed;
  };
  struct Next {
    std::int32_t gpu, hops;
  };
  Count from(int gpu, std::uint64_t visited);
  Count explore(int gpu, std::uint64_t visited);

  int gpus_ = 0;
  std::vector<Next> ways_;     // by GPU
  std::vector<int> wayCount_;  // by GPU
  std::vector<Count> ends_;    // by GPU
  Explored counts_;            // of sets and their last GPU
  std::int64_t limit_ = 0;
  bool over_ = false;
  Count counted_;
};

}  // namespace xylem
