#pragma once
// The choice for every size: ranges of sizes that get the same algorithm, protocol, channels and warps.
//
//   for (const ChoiceRange& range : choiceRanges(model, {.collective = Collective::kAllReduce}))
//     ... range.first, range.last (bytes), range.pick.algorithm ...
//
// The bounds are found by bisection, so they are those of choose(), except where two candidates take the same
// time but for the rounding of 32-bit numbers.

#include <cstdint>
#include <vector>

#include "planner/tuning/choice.h"

namespace xylem {

// What the ranks of an operation have to agree on.
struct Pick {
  bool runs = false;  // false: nothing can run it
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;
  int warps = 0;  // per channel

  bool operator==(const Pick&) const = default;
};
Pick pickOf(const Choice& choice);

struct ChoiceRange {
  std::uint64_t first = 0, last = 0;  // bytes, both included
  Pick pick;

  bool operator==(const ChoiceRange&) const = default;
};

// Ranges end here: 1 TiB. From far below on, nothing changes any more.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

// From 1 byte to kMostBytes, without gaps. The size of `operation` does not matter.
std::vector<ChoiceRange> choiceRanges(const TuningModel& model, const Operation& operation);

}  // namespace xylem
