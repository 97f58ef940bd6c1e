#pragma once
// Judges a plan against another one by NCCL's model: every function, over messages of all sizes.
//
//   const Judgement judgement = judge(searched, optimized, {});
//   judgement.gain            ->   1.12: the weighted mean of the times, one by the other
//   judgement.loses()         ->   false: no function with a weight is slower at any size
//   for (const JudgedTime& t : judgement.times) ... t.collective, t.bytes, t.before, t.after ...

#include <string>
#include <vector>

#include "core/kinds.h"
#include "planner/plan/plan.h"

namespace xylem::optimum {

// How much each function counts; one with weight 0 may become slower.
struct Weights {
  ByCollective<double> of = {1, 1, 1, 1, 1};
};
// "AllReduce=10,Broadcast=0": functions that are not named keep weight 1. Throws InputError that names
// `option`.
Weights parseWeights(const std::vector<std::string>& words, const std::string& option);

struct JudgedTime {
  Collective collective = Collective::kAllReduce;
  std::uint64_t bytes = 0;
  double before = 0, after = 0;  // predicted, microseconds, of the slowest kind of host; 0: cannot run

  double ratio() const { return before > 0 ? after / before : 1; }
};

// Times that change by a smaller part count as equal: rounding, and six digits in graph files.
constexpr double kSameTime = 1e-3;

struct Judgement {
  std::vector<JudgedTime> times;  // by function, then by size: 8 B to 8 GiB
  double gain = 1;                // weighted geometric mean of before / after
  double loss = 1;                // the greatest after / before among functions with a weight

  bool loses() const { return loss > 1 + kSameTime; }
  bool gains() const { return gain > 1 + kSameTime; }
};

Judgement judge(const plan::Plan& before, const plan::Plan& after, const Weights& weights);

// Neighbouring sizes of a function that are all slower, or all faster.
struct JudgedRange {
  Collective collective = Collective::kAllReduce;
  std::uint64_t first = 0, last = 0;         // bytes
  double leastRatio = 1, greatestRatio = 1;  // after / before
};
std::vector<JudgedRange> slowerRanges(const Judgement& judgement);
std::vector<JudgedRange> fasterRanges(const Judgement& judgement);

}  // namespace xylem::optimum
