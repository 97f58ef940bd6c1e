#pragma once
// The choice for every size: ranges of sizes that get the same algorithm, protocol, channels and warps.
//
//   for (const ChoiceRange& range : choiceRanges(model, {.collective = Collective::kAllReduce}))
//     ... range.first, range.last (bytes), range.pick.algorithm ...
//
// The bounds are found by bisection and are those of choose(), except for sizes at which two candidates take
// the same time up to the rounding of 32-bit numbers.

#include <cstdint>
#include <vector>

#include "planner/tuning/choice.h"

namespace xylem::tuning {

// The part of a choice that all ranks of an operation must share.
struct Pick {
  bool runs = false;  // false if nothing can run the operation
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

// The last range ends here, at 1 TiB: choices stop changing far below.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

// Returns ranges from 1 byte to kMaxBytes, without gaps. Ignores the size of `operation`.
std::vector<ChoiceRange> choiceRanges(const TuningModel& model, const Operation& operation);

}  // namespace xylem::tuning
