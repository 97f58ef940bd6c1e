#pragma once
// Which algorithm, protocol, channels and threads an operation gets, and how every other candidate would have
// done.
//
//   Choice choice = choose(model, {.collective = Collective::kAllReduce, .bytes = 2 << 20});
//   choice.best()->algorithm     ->   Algorithm::kRing, 427 us
//   choice.runnerUp()->time      ->   511 us
//   explain(choice.ranking.back(), choice.operation, model)   ->   "NVLSTree needs more than one node"

#include <cstdint>
#include <string>
#include <vector>

#include "core/data_type.h"
#include "planner/tuning/model.h"

namespace xylem {

struct Operation {
  Collective collective = Collective::kAllReduce;
  // Element size times count, times ranks for AllGather and ReduceScatter.
  std::uint64_t bytes = 0;
  DataType type = DataType::kFloat32;
  ReduceOp reduction = ReduceOp::kSum;
  bool scaled = false;        // a sum of scaled operands (ncclRedOpCreatePreMulSum)
  bool collnetWorks = true;   // the network can do this type and reduction, where there is CollNet
  bool collnetDirect = true;  // whoever executes it has this algorithm
  int aggregated = 1;         // operations of a group that this one stands for
};

struct Candidate {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  float time = 0;  // predicted, microseconds; only where it is not excluded
  Exclusion excluded = Exclusion::kNone;
};

struct Choice {
  Operation operation;
  // First those that can run, from the fastest on, then the excluded ones in NCCL's order.
  std::vector<Candidate> ranking;
  int usable = 0;  // so many of them can run
  int channels = 0;
  int warps = 0;  // per channel

  // Null if nothing can run the operation.
  const Candidate* best() const { return usable > 0 ? ranking.data() : nullptr; }
  const Candidate* runnerUp() const { return usable > 1 ? &ranking[1] : nullptr; }
};

// What would take this long NCCL does not consider: an hour, in microseconds.
constexpr float kSlowestTime = 3.6e9f;

Choice choose(const TuningModel& model, const Operation& operation);

// Sizes that stand for all in plans and comparisons, in bytes: 8 B to 8 GiB, each eight times the one before.
std::vector<std::uint64_t> choiceSizes();

// The predicted time of what the model allows, in microseconds.
float predictedTime(const TuningModel& model, const Operation& operation, Algorithm algorithm,
                    Protocol protocol);

// One sentence for a person: why it does not run, or what it would take.
std::string explain(const Candidate& candidate, const Operation& operation, const TuningModel& model);

}  // namespace xylem
