#pragma once
// The choice of algorithm, protocol, channels and warps for an operation, and how every other candidate would
// have done.
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

namespace xylem::tuning {

struct Operation {
  Collective collective = Collective::kAllReduce;
  // Element size times count, times ranks for AllGather and ReduceScatter.
  std::uint64_t bytes = 0;
  DataType type = DataType::kFloat32;
  ReduceOp reduction = ReduceOp::kSum;
  bool scaled = false;        // a sum of scaled operands (ncclRedOpCreatePreMulSum)
  bool collnetWorks = true;   // CollNet, if the job has it, can do this type and reduction
  bool collnetDirect = true;  // the runtime that executes the operation has CollNetDirect
  int aggregated = 1;         // operations of a group that this one stands for
};

struct Candidate {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  float time = 0;  // predicted, microseconds; set only if the candidate is not excluded
  Exclusion excluded = Exclusion::kNone;
};

struct Choice {
  Operation operation;
  // The candidates that can run, the fastest first, then the excluded ones in NCCL's order.
  std::vector<Candidate> ranking;
  int usable = 0;  // number of candidates that can run
  int channels = 0;
  int warps = 0;  // per channel

  // Null if nothing can run the operation.
  const Candidate* best() const { return usable > 0 ? ranking.data() : nullptr; }
  const Candidate* runnerUp() const { return usable > 1 ? &ranking[1] : nullptr; }
};

// Whether a switch can combine elements of this type in this way: NVLS needs it, except to gather.
bool nvlsReduces(const Operation& operation);

Choice choose(const TuningModel& model, const Operation& operation);

// Sizes that stand for all in plans and comparisons, in bytes: 8 B to 8 GiB, each eight times the one before.
std::vector<std::uint64_t> choiceSizes();

// Returns the predicted time in microseconds. The model must allow the algorithm and protocol.
float predictedTime(const TuningModel& model, const Operation& operation, Algorithm algorithm,
                    Protocol protocol);

// Returns one sentence for a person: why the candidate does not run, or how long it would take.
std::string explain(const Candidate& candidate, const Operation& operation, const TuningModel& model);

// The sentences about the excluded candidates, each once. Leaves out what is impossible in every job.
std::vector<std::string> exclusionReasons(const Choice& choice, const TuningModel& model);

// Returns bandwidth in GB/s as nccl-tests reports it: what each rank's link carries, whatever the collective.
// `bytes` are those of the operation, of all ranks together for AllGather and ReduceScatter; `time` is in
// microseconds. 0 if the operation takes no time.
//
//   busBandwidth(Collective::kAllReduce, 4, 2 << 20, 427.05f)   ->   7.37 GB/s
constexpr double busBandwidth(Collective collective, int ranks, std::uint64_t bytes, double time) {
  constexpr double kBytesPerMicrosecond = 1000;  // of one GB/s
  if (time <= 0) return 0;
  double factor = 1;
  if (collective == Collective::kAllReduce) factor = 2.0 * (ranks - 1) / ranks;
  if (gathersOrScatters(collective)) factor = 1.0 * (ranks - 1) / ranks;
  return static_cast<double>(bytes) / time / kBytesPerMicrosecond * factor;
}

}  // namespace xylem::tuning
